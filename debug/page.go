package debug

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/session"
)

const (
	mostRows = 500  // of a section, without ?all
	slowest  = 3600 // seconds between two refreshes
	longest  = 200  // characters of a text
	ofQueues = "queue"
)

// page is what is shown, and its JSON.
type page struct {
	Time     time.Time
	Sessions []*view // nil for a session that is nil
	All      bool    `json:"-"` // every row is shown
	Refresh  int     `json:"-"` // seconds; 0: none
}

// view is a session as the page shows it.
type view struct {
	Session status
	Held    section[held]
	Waiting section[waiting]
	Queues  section[queue]
	Actors  section[actor]
	Events  section[event]
}

type section[T any] struct {
	Rows []T
	Left int // how many rows are left out
}

// status and the other rows add to the types of a snapshot, or have its fields in another form.
type status struct {
	session.Status
	State     string
	SessionID id
	Timeout   span
	Trust     span // what is left of it
	Cause     string
	Watches   int
	Requests  []requests // under way
	Stalls    int        // among the last events
	Longest   span       // of the stalls
	Dropped   uint64     // events
}

type requests struct {
	Op     string
	Active int
}

type held struct {
	session.Held
	Age    span
	Behind int // how many are known to wait for it
}

type waiting struct {
	session.Waiting
	Age, LookAge span
}

// queue is what the session takes from a queue, and has of it in hand.
type queue struct {
	Path     string
	State    string // several if they differ, as for a moment when a pause begins or ends
	Items    int
	Attempts int    // the most of an item
	Oldest   string // the item that is in hand for longest
	Age      span   // for how long
}

// actor is one of the tree, which is listed from the top down.
type actor struct {
	Depth             int
	Name, Kind, Phase string
	Restarts          int
}

// Indent is the space before it.
func (a actor) Indent() string { return strings.Repeat("\u2003", min(a.Depth, 16)) }

type event struct {
	session.Event
	Kind      string
	Took      span
	SessionID id
	Err       string
}

// viewOf takes a snapshot, and makes it a view with so many rows a section.
func viewOf(snapshot func() session.Snapshot, most int) *view {
	if snapshot == nil {
		return nil
	}
	snap := snapshot()
	snap.Events = append(snap.Events, snap.ItemEvents...)
	slices.SortStableFunc(snap.Held, func(a, b session.Held) int { return a.Since.Compare(b.Since) })
	slices.SortStableFunc(snap.Waiting, func(a, b session.Waiting) int { return a.Since.Compare(b.Since) })
	slices.SortStableFunc(snap.Events, func(a, b session.Event) int { return a.Time.Compare(b.Time) })
	v := &view{
		Session: statusOf(snap),
		Waiting: limited(snap.Waiting, most, func(w session.Waiting) waiting { return waitingOf(w, snap.Time) }),
		Queues:  limited(queuesOf(snap), most, func(q *queue) queue { return *q }),
		Actors:  limited(flat(nil, snap.Actors, 0), most, func(a actor) actor { return a }),
		Events:  limited(snap.Events, most, eventOf),
	}
	behind := behindOf(snap.Waiting)
	snap.Held = slices.DeleteFunc(snap.Held, func(h session.Held) bool { return h.Recipe == ofQueues })
	v.Held = limited(snap.Held, most, func(h session.Held) held { return heldOf(h, snap.Time, behind[h.Path]) })
	return v
}

// limited are the first rows as the page shows them.
func limited[S, T any](from []S, most int, show func(S) T) section[T] {
	rows := make([]T, min(len(from), most))
	for i := range rows {
		rows[i] = show(from[i])
	}
	return section[T]{rows, len(from) - len(rows)}
}

func statusOf(snap session.Snapshot) status {
	is := snap.Status
	s := status{
		Status: is, State: is.State.String(), SessionID: id(is.SessionID), Timeout: span(is.Timeout), Cause: text(is.Cause), Watches: snap.Watches, Dropped: snap.Dropped,
	}
	for _, r := range snap.Requests {
		if r.Active != 0 {
			s.Requests = append(s.Requests, requests{text(r.Op), r.Active})
		}
	}
	if !is.TrustedUntil.IsZero() {
		s.Trust = span(max(0, is.TrustedUntil.Sub(snap.Time)))
	}
	for _, ev := range snap.Events {
		if ev.Kind == session.EventStalled {
			s.Stalls, s.Longest = s.Stalls+1, max(s.Longest, span(ev.Took))
		}
	}
	s.Server, s.Address = text(s.Server), text(s.Address)
	return s
}

// behindOf is how many are known to wait behind what is held, by path: those of this session, or by
// the last look of one of them, which waits too.
func behindOf(waits []session.Waiting) map[string]int {
	behind := map[string]int{}
	for _, w := range waits {
		behind[w.Path]++
	}
	for _, w := range waits {
		if !w.Looked.IsZero() {
			behind[w.Path] = max(behind[w.Path], w.Behind+1)
		}
	}
	return behind
}

func heldOf(h session.Held, now time.Time, behind int) held {
	row := held{Held: h, Age: span(now.Sub(h.Since)), Behind: behind}
	row.Recipe, row.Path, row.Name, row.Asked = text(h.Recipe), text(h.Path), text(h.Name), text(h.Asked)
	return row
}

func waitingOf(w session.Waiting, now time.Time) waiting {
	row := waiting{Waiting: w, Age: span(now.Sub(w.Since))}
	if !w.Looked.IsZero() {
		row.LookAge = span(now.Sub(w.Looked))
	}
	row.Recipe, row.Path, row.Name, row.State = text(w.Recipe), text(w.Path), text(w.Name), text(w.State)
	row.Holder, row.Asked = text(w.Holder), text(w.Asked)
	return row
}

// queuesOf sums up the items in hand, which are sorted by age. Queues without one come last.
func queuesOf(snap session.Snapshot) (queues []*queue) {
	at := map[string]*queue{}
	of := func(path string) *queue {
		if at[path] == nil {
			at[path] = &queue{Path: text(path)}
			queues = append(queues, at[path])
		}
		return at[path]
	}
	for _, h := range snap.Held {
		if h.Recipe == ofQueues {
			q := of(h.Path)
			if q.Items++; q.Items == 1 {
				q.Oldest, q.Age = text(h.Name), span(snap.Time.Sub(h.Since))
			}
			q.Attempts = max(q.Attempts, h.Attempt)
		}
	}
	for _, r := range snap.Recipes {
		if r.Recipe == ofQueues {
			if q := of(r.Path); !strings.Contains(q.State, r.State) {
				q.State = strings.TrimPrefix(q.State+", "+r.State, ", ")
			}
		}
	}
	return queues
}

// flat appends a part of the tree to a list.
func flat(list []actor, n actors.Node, depth int) []actor {
	list = append(list, actor{depth, text(n.Name), text(n.Kind), text(n.Phase), n.Restarts})
	for _, child := range n.Children {
		list = flat(list, child, depth+1)
	}
	return list
}

func eventOf(ev session.Event) event {
	row := event{Event: ev, Kind: ev.Kind.String(), Took: span(ev.Took), SessionID: id(ev.SessionID), Err: text(ev.Err)}
	row.Recipe, row.Path, row.Name, row.From, row.To = text(ev.Recipe), text(ev.Path), text(ev.Name), text(ev.From), text(ev.To)
	return row
}

// text is a text or an error that may come from anywhere: quoted if it could hide or move other
// text, and cut.
func text(from any) string {
	if from == nil {
		return ""
	}
	s := fmt.Sprint(from) // contains a panic of an error's method
	shown, rest := s, ""
	if utf8.RuneCountInString(s) > longest {
		shown, rest = fmt.Sprintf("%.*s", longest, s), fmt.Sprintf("… (%d bytes)", len(s))
	}
	if strings.ContainsFunc(shown, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }) {
		shown = strconv.Quote(shown)
	}
	return shown + rest
}

// id prints as in ZooKeeper's logs.
type id int64

func (i id) String() string { return "0x" + strconv.FormatUint(uint64(i), 16) }

func (i id) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// span is a duration: rounded for people, in seconds for programs.
type span time.Duration

func (s span) Seconds() float64 { return time.Duration(s).Seconds() }

func (s span) String() string {
	d, unit := time.Duration(s), time.Microsecond
	for unit < time.Second && d >= 1000*unit { // three digits or four
		unit *= 10
	}
	return d.Round(unit).String()
}

func (s span) MarshalJSON() ([]byte, error) { return json.Marshal(s.Seconds()) }
