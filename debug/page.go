package debug

import (
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
	most int // how many are not
}

func (s *section[T]) add(row T) {
	if len(s.Rows) < s.most {
		s.Rows = append(s.Rows, row)
	} else {
		s.Left++
	}
}

func none[T any](most int) section[T] { return section[T]{Rows: []T{}, most: most} } // JSON has no null for it

// status and the other rows add to the types of a snapshot, or have its fields in another form.
type status struct {
	session.Status
	State     string
	SessionID string
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
	SessionID string
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
	v := &view{statusOf(snap), none[held](most), none[waiting](most), none[queue](most), none[actor](most), none[event](most)}
	since := func(t time.Time) span { return spanOf(snap.Time.Sub(t)) }
	behind, queues, order := behindOf(snap.Waiting), map[string]*queue{}, []*queue(nil)
	queueAt := func(path string) *queue {
		if queues[path] == nil {
			queues[path] = &queue{Path: text(path)}
			order = append(order, queues[path])
		}
		return queues[path]
	}
	for _, h := range snap.Held {
		at, age := h.Path, since(h.Since)
		h.Recipe, h.Path, h.Name, h.Asked = text(h.Recipe), text(h.Path), text(h.Name), text(h.Asked)
		if h.Recipe != "queue" {
			v.Held.add(held{h, age, behind[at]})
			continue
		}
		q := queueAt(at)
		if q.Items++; q.Items == 1 {
			q.Oldest, q.Age = h.Name, age
		}
		q.Attempts = max(q.Attempts, h.Attempt)
	}
	for _, r := range snap.Recipes {
		if r.Recipe == "queue" {
			if q := queueAt(r.Path); !strings.Contains(q.State, r.State) { // consumers may differ for a moment
				q.State = strings.TrimPrefix(q.State+", "+r.State, ", ")
			}
		}
	}
	for _, q := range order {
		v.Queues.add(*q)
	}
	for _, w := range snap.Waiting {
		row := waiting{Waiting: w, Age: since(w.Since)}
		if !w.Looked.IsZero() {
			row.LookAge = since(w.Looked)
		}
		row.Recipe, row.Path, row.Name, row.State = text(w.Recipe), text(w.Path), text(w.Name), text(w.State)
		row.Holder, row.Asked = text(w.Holder), text(w.Asked)
		v.Waiting.add(row)
	}
	v.add(snap.Actors, 0)
	for _, ev := range snap.Events {
		row := event{Event: ev, Kind: ev.Kind.String(), Took: spanOf(ev.Took), SessionID: hex(ev.SessionID), Err: text(ev.Err)}
		row.Recipe, row.Path, row.Name, row.From, row.To = text(ev.Recipe), text(ev.Path), text(ev.Name), text(ev.From), text(ev.To)
		v.Events.add(row)
	}
	return v
}

// add adds a part of the tree, from the top down.
func (v *view) add(n actors.Node, depth int) {
	v.Actors.add(actor{depth, text(n.Name), text(n.Kind), text(n.Phase), n.Restarts})
	for _, child := range n.Children {
		v.add(child, depth+1)
	}
}

func statusOf(snap session.Snapshot) status {
	is := snap.Status
	s := status{
		Status: is, State: is.State.String(), SessionID: hex(is.SessionID), Timeout: spanOf(is.Timeout), Cause: text(is.Cause), Watches: snap.Watches, Dropped: snap.Dropped,
	}
	for _, r := range snap.Requests {
		if r.Active != 0 {
			s.Requests = append(s.Requests, requests{text(r.Op), r.Active})
		}
	}
	if !is.TrustedUntil.IsZero() {
		s.Trust = spanOf(max(0, is.TrustedUntil.Sub(snap.Time)))
	}
	for _, ev := range snap.Events {
		if ev.Kind == session.EventStalled {
			s.Stalls, s.Longest = s.Stalls+1, max(s.Longest, spanOf(ev.Took))
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
		behind[w.Path] = max(behind[w.Path], w.Behind+1)
	}
	return behind
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

// hex is a session's id as in ZooKeeper's logs.
func hex(id int64) string { return fmt.Sprintf("%#x", uint64(id)) }

// span is a duration in seconds, rounded for people.
type span float64

func spanOf(d time.Duration) span { return span(d.Seconds()) }

func (s span) String() string {
	d, unit := time.Duration(s*span(time.Second)), time.Microsecond
	for unit < time.Second && d >= 1000*unit { // three digits or four
		unit *= 10
	}
	return d.Round(unit).String()
}
