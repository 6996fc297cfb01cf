package session

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/session/internal/watches"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// Snapshot is what a session and everything on it do at an instant, for people and for metrics: see
// [Session.Snapshot]. It is not made to be marshalled: as JSON, errors are {}, and kinds and states
// numbers. The page of package debug is, with ?format=json.
type Snapshot struct {
	Time   time.Time
	Status Status

	Recipes  []RecipeState // every recipe on the session
	Held     []Held        // what is held
	Waiting  []Waiting     // what is waited for
	Requests []Requests    // what was asked of the servers, by operation
	Watches  int           // that the servers have for the session
	Actors   actors.Node   // the session's part of the tree

	Events     []Event // the last 64, the oldest first, without those of items
	ItemEvents []Event // the last 64 of items
	Dropped    uint64  // events that the functions of [WithEvents] were not told, all together
}

// RecipeState is the state of a recipe.
type RecipeState struct {
	Recipe, Path, Name string // as in [Event]
	State              string
	Since              time.Time // when it came about
}

// Held is a possession.
type Held struct {
	Recipe, Path, Name string // as in [Event]
	Token              int64
	Since              time.Time
	Attempt            int    // of an item
	Asked              string // as in [Waiting]; "": an item that no call of Take has received
	Unreceived         bool   // the application has not received it
}

// Waiting is a wait for a possession.
type Waiting struct {
	Recipe, Path, Name string // as in [Event]
	Since              time.Time
	State              string
	Ahead              int       // how many contenders are ahead, by the last listing
	Asked              string    // where in the application it was asked for, file and line
	Holder             string    // who holds it, by the last look, which a wait takes when it has lasted for a second; "": not known
	Behind             int       // how many others wait, by that look
	Looked             time.Time // when that was
}

// Requests are the requests of one operation, since the session was made.
type Requests struct {
	Op     string          // "create", "getData", …
	Active int             // not answered yet
	Ended  []RequestsEnded // the others, by error and by how long they took
}

// RequestsEnded are the requests of one operation with the same outcome that took a similar time.
type RequestsEnded struct {
	Error string        // "" if they succeeded, "no_node" and the like if not, "connection_loss" if there was no answer
	UpTo  time.Duration // each took at most that, and more than the bound below; 0: more than the last bound
	Count int64
	Took  time.Duration // all together
}

// Snapshot describes the session and everything on it, as it is now. It makes no request, and asks
// every recipe on the session: call it for a page or a collection of metrics, not for decisions.
func (s *Session) Snapshot() Snapshot {
	g := s.state.lock()
	snap := Snapshot{Time: time.Now(), Status: g.status()}
	clients, e := g.inOrder(), g.current(g.epochs)
	g.unlock()
	if e != nil {
		e.watched.change(func(t *watches.Table) { snap.Watches = t.Len() })
	}
	for _, t := range clients {
		if describe := t.describe.Load(); describe != nil {
			(*describe)(&snap)
		}
	}
	snap.Requests = requests(s.requests.All())
	snap.Actors = s.scope.Tree()
	s.events.describe(&snap)
	return snap
}

func requests(counts map[zkconn.Kind]zkconn.Times) (all []Requests) {
	order := func(a, b zkconn.Kind) int { // those under way first
		return cmp.Or(cmp.Compare(a.Op, b.Op), cmp.Compare(b.Code, a.Code))
	}
	bounds := append(zkconn.Bounds[:], 0)
	for _, k := range slices.SortedFunc(maps.Keys(counts), order) {
		if op := k.Op.String(); len(all) == 0 || all[len(all)-1].Op != op {
			all = append(all, Requests{Op: op})
		}
		r, failed := &all[len(all)-1], ""
		if k.Code != 0 {
			failed = strings.ReplaceAll(k.Code.String(), " ", "_")
		}
		for i, n := range counts[k] {
			if k.Code == zkconn.UnderWay {
				r.Active += int(n.N)
			} else if n.N > 0 {
				r.Ended = append(r.Ended, RequestsEnded{failed, bounds[i], n.N, n.Took})
			}
		}
	}
	return all
}

// Describe sets what adds the client's recipe to a snapshot.
func (t *client) Describe(f func(*Snapshot)) { t.describe.Store(&f) }
