package watches

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// stage is a table with a simulated server: requests, answers and events wait to be delivered in
// any order.
type stage struct {
	*testing.T
	*Table
	seed uint64
	rng  *rand.Rand
	// The server.
	exists  map[string]bool // by path
	armed   map[Key]bool
	changes map[Key]int // how many there have been
	sent    []string    // all events, in its order
	// What is on the wire: see serve, hearAnswer, hearEvent, hearRemoval.
	requests []request   // in order
	answers  []answer    // overtaking one another and the events
	events   []Event     // in order
	removals []givenBack // carried out or lost, and not answered
	// What the table was told of these.
	conns       int // connections before the present one
	eventsHeard int
	// The clients.
	clients []*client
	left    []*client      // the table does not know yet that they have left
	asking  map[*read]bool // their reads without an answer
}

// answer is what came of a read.
type answer struct {
	read   *Read
	answer func() // nil: lost
	armed  bool
	behind int // that many events
}

// givenBack is what became of a removal.
type givenBack struct {
	keys    []Key
	outcome Outcome
	conns   int // the connections that there had been when it was asked for
	behind  int // that many events
}

type request struct {
	read   *Read
	watch  bool
	remove *givenBack // instead
}

// read is what a client asks for.
type read struct {
	stage *stage
	birth bool // a missing znode is watched too
}

func (r *read) Send(of *Read, watch bool) {
	r.stage.requests = append(r.stage.requests, request{read: of, watch: watch})
}

func (r *read) Pending() bool { return r.stage.asking[r] }

// client is one client, with what it knows.
type client struct {
	stage *stage
	gone  bool
	told  []string // events
	// It has missed nothing: where answered, seen has to be the server's count of changes at the
	// end.
	seen     map[Key]int  // how many changes the newest answered read saw
	answered map[Key]bool // a read that armed was answered since it was told, or has forgone the watch, last
	pending  map[Key]int  // reads without an answer
	forgone  map[Key]int  // how often it has forgone the watch
	wanted   map[Key]int  // forgone, when it asked last
	// It is told nothing too early.
	credit map[string]int // by path: answers that armed something, less events
}

func newStage(t *testing.T, seed uint64) *stage {
	g := &stage{
		T: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 0)), armed: map[Key]bool{},
		exists: map[string]bool{"/a": true, "/b": true}, changes: map[Key]int{}, asking: map[*read]bool{},
	}
	g.Table = New(g)
	for range 3 {
		g.join()
	}
	return g
}

func (g *stage) Remove(keys []Key) {
	g.requests = append(g.requests, request{remove: &givenBack{keys: keys, conns: g.conns}})
}

func (g *stage) Watched(key Key) bool { return g.armed[key] }

// join lets a client come.
func (g *stage) join() {
	c := &client{
		stage: g, seen: map[Key]int{}, answered: map[Key]bool{}, credit: map[string]int{}, pending: map[Key]int{}, forgone: map[Key]int{}, wanted: map[Key]int{},
	}
	g.clients = append(g.clients, c)
}

// leave lets a client leave, for which another comes.
func (g *stage) leave() {
	i := g.rng.IntN(len(g.clients))
	c := g.clients[i]
	c.gone = true
	g.left = append(g.left, c)
	g.join()
	g.clients = slices.Delete(g.clients, i, i+1)
}

func (c *client) Left() bool { return c.gone }

func (g *stage) Tell(to Client, e Event) {
	if c := to.(*client); !c.gone {
		c.hear(e)
	}
}

func (g *stage) hearLeft() {
	if len(g.left) > 0 {
		g.Leave(g.left[0])
		g.left = g.left[1:]
	}
}

// forget lets a client depend on a path no more.
func (g *stage) forget() {
	c, key := g.clients[g.rng.IntN(len(g.clients))], g.key()
	c.forgone[key]++
	c.answered[key] = false
	g.Forget(c, key)
}

// hearRemoval delivers what became of a removal.
func (g *stage) hearRemoval() {
	if len(g.removals) == 0 {
		return
	}
	m := g.removals[0]
	g.removals = g.removals[1:]
	for g.eventsHeard < m.behind { // which its answer can't overtake, since it is passed on after they were told
		g.hearEvent()
	}
	g.Removed(m.keys, m.outcome, g.conns > m.conns)
}

// hear checks what may be relied on: no event before the answer to the read that asked for it.
func (c *client) hear(e Event) {
	for _, key := range e.keys() {
		c.answered[key] = false
	}
	c.credit[e.Path]--
	require.GreaterOrEqual(c.stage, c.credit[e.Path], 0, "seed %d: an event of %s before the answer that armed it", c.stage.seed, e.Path)
	c.told = append(c.told, fmt.Sprint(e))
}

func (g *stage) key() Key {
	return Key{[]string{"/a", "/b"}[g.rng.IntN(2)], Kind(g.rng.IntN(2))}
}

// ask lets a client read with a watch, one read of a path at a time as machines do.
func (g *stage) ask() {
	c, key := g.clients[g.rng.IntN(len(g.clients))], g.key()
	if c.pending[key] > 0 {
		return
	}
	c.pending[key]++
	c.wanted[key] = c.forgone[key]
	r := &read{stage: g, birth: key.Kind == Data && g.rng.IntN(2) == 0}
	g.asking[r] = true
	g.Ask(&Read{Client: c, Key: key, Request: r})
}

// serve lets the server carry out the next request.
func (g *stage) serve() {
	if len(g.requests) == 0 {
		return
	}
	r := g.requests[0]
	g.requests = g.requests[1:]
	if r.remove != nil {
		for _, key := range r.remove.keys {
			delete(g.armed, key)
		}
		r.remove.behind = g.behind()
		g.removals = append(g.removals, *r.remove)
		return
	}
	key, asked := r.read.Key, r.read.Request.(*read)
	armed := g.exists[key.Path] || asked.birth
	if r.watch && armed {
		g.armed[key] = true
	}
	c := r.read.Client.(*client)
	saw := g.changes[key]
	g.answers = append(g.answers, answer{read: r.read, armed: armed, behind: g.behind(), answer: func() {
		delete(g.asking, asked)
		c.pending[key]--
		c.seen[key], c.answered[key] = saw, armed && c.wanted[key] == c.forgone[key]
		if armed {
			c.credit[key.Path]++
		}
	}})
}

// change lets something happen at the server.
func (g *stage) change() {
	key := g.key()
	ev := Event{Path: key.Path, Type: DataChanged}
	switch {
	case !g.exists[key.Path]:
		ev.Type, g.exists[key.Path] = Created, true
	case g.rng.IntN(3) == 0:
		ev.Type, g.exists[key.Path] = Deleted, false
	case key.Kind == Children:
		ev.Type = ChildrenChanged
	}
	fired := false
	for _, k := range ev.keys() {
		g.changes[k]++
		fired = fired || g.armed[k]
		delete(g.armed, k)
	}
	if fired {
		g.events = append(g.events, ev)
		g.sent = append(g.sent, fmt.Sprint(ev))
	}
}

// hearAnswer delivers any of the answers.
func (g *stage) hearAnswer() {
	if len(g.answers) == 0 {
		return
	}
	i := g.rng.IntN(len(g.answers))
	m := g.answers[i]
	g.answers = slices.Delete(g.answers, i, i+1)
	for g.strict() && g.eventsHeard < m.behind {
		g.hearEvent()
	}
	g.Done(m.read, m.answer, m.armed)
}

// behind is how many events there have been.
func (g *stage) behind() int { return g.eventsHeard + len(g.events) }

// strict: answers do not overtake the events before them. They never do, but it does no harm
// either, except that a watch may be left at the server.
func (g *stage) strict() bool { return g.seed%2 == 0 }

// hearEvent delivers the next event.
func (g *stage) hearEvent() {
	if len(g.events) == 0 {
		return
	}
	ev := g.events[0]
	g.events = g.events[1:]
	g.eventsHeard++
	g.Fire(ev)
}

// lose drops the connection: requests that were not served are lost, and a part of the answers with
// them.
func (g *stage) lose() {
	for _, r := range g.requests {
		if r.remove == nil {
			g.answers = append(g.answers, answer{read: r.read, behind: g.behind()})
			continue
		}
		if g.rng.IntN(2) == 0 { // it was not sent yet, so that the watches are armed again
			r.remove.outcome = NotSent
		} else { // its answer is lost
			for _, key := range r.remove.keys {
				delete(g.armed, key)
			}
		}
		r.remove.behind = g.behind()
		g.removals = append(g.removals, *r.remove)
	}
	g.requests = nil
	for i := range g.answers {
		if g.answers[i].answer != nil && g.rng.IntN(2) == 0 {
			// The watch that it armed is not armed again on the next connection: the read that lost
			// the answer is sent again.
			r := g.answers[i].read
			g.answers[i] = answer{read: r, behind: g.behind()}
			if n := g.entries[r.Key]; n != nil && n.arming == r {
				delete(g.armed, r.Key)
			}
		}
	}
	g.conns++
	g.GiveBack() // as when it is told that there is a connection again
}

// check delivers everything, and checks what must hold then.
func (g *stage) check() {
	for len(g.requests)+len(g.answers)+len(g.events)+len(g.removals)+len(g.left) > 0 {
		g.serve()
		g.hearRemoval()
		g.hearLeft()
		g.hearAnswer()
		g.hearEvent()
	}
	require.Empty(g, g.asking, "seed %d: a read without an answer", g.seed)
	require.Empty(g, g.held, "seed %d: an event is held back for ever", g.seed)
	for i, a := range g.clients {
		for key, seen := range a.seen {
			if a.answered[key] {
				require.Equal(g, g.changes[key], seen, "seed %d: client %d has missed a change of %v", g.seed, i, key)
			}
		}
		at := 0
		for _, told := range a.told { // in the server's order
			j := slices.Index(g.sent[at:], told)
			require.GreaterOrEqual(g, j, 0, "seed %d: client %d was told %v of %v", g.seed, i, a.told, g.sent)
			at += j + 1
		}
	}
	for key, n := range g.entries {
		require.Nil(g, n.arming)
		require.NotEmpty(g, n.subs, "seed %d: no client depends on the watch of %v", g.seed, key)
		require.True(g, g.armed[key], "seed %d: %v is believed to be armed", g.seed, key)
	}
	for key := range g.armed {
		if !g.strict() {
			break
		}
		require.Contains(g, g.entries, key, "seed %d: a watch of %v is left at the server", g.seed, key)
	}
	require.Empty(g, g.due)
	subscribed := 0
	for _, n := range g.entries {
		subscribed += len(n.subs)
	}
	for _, a := range g.Table.clients {
		for ; a != nil; a = a.after {
			subscribed--
		}
	}
	require.Zero(g, subscribed, "seed %d: the clients' lists and the entries' differ", g.seed)
}

// Events overtake answers, answers one another, connections are lost: no client is told too early,
// none misses a change, and the order is ZooKeeper's.
func TestTableUnderAnySchedule(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20_000) {
		g := newStage(t, seed)
		// Those that are listed twice are drawn more often.
		moves := []func(){g.ask, g.ask, g.serve, g.serve, g.change, g.hearAnswer, g.hearAnswer, g.hearEvent, g.hearEvent, g.ask, g.serve, g.leave, g.hearLeft, g.forget, g.hearRemoval, g.hearRemoval, g.lose}
		for range 60 {
			move := g.rng.IntN(len(moves))
			if move == len(moves)-1 && g.rng.IntN(4) > 0 {
				continue // connections are lost more rarely: lose is the last move
			}
			moves[move]()
		}
		g.check()
	}
}
