package contend_test

// Sessions in the simulation: requests, answers and watches, in any order that may be.

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
)

var errStale = errors.New("a version is another, or the answer was lost")

// session is one epoch of one instance: a ZooKeeper session with its client side. It bends the
// order of things as far as package machine allows.
type session struct {
	sim   *simulation
	of    *instance
	id    int64
	epoch uint64

	dead      bool // at the server
	ended     bool // at the client: the epoch has ended
	suspended bool
	trusted   bool

	requests []*request
	arms     []arm           // watches that are set at the server
	believed map[string]bool // paths that the client takes for watched: they are read without a watch
}

type arm struct {
	path string
	by   *request
	zxid int64
}

type request struct {
	effect machine.Effect
	after  *request // does not run before that one
	watch  bool
	ran    bool
	orphan bool // the incarnation that asked has crashed
	told   bool // its answer was delivered, or never will be
}

// answer is a reply on its way.
type answer struct {
	to *request
	ev machine.Event
}

// fire is an event on its way: not before the answer of the read that armed it, nor before what the
// session had to say until then.
type fire struct {
	by      *request
	notices int // said by then
	path    string
	ev      machine.Fired
}

// send takes a request over from the host.
func (s *session) send(e machine.Effect) {
	r := &request{effect: e}
	switch e := e.(type) {
	case machine.Read:
		r.watch = e.Watch && !s.believed[e.Path]
		s.believed[e.Path] = s.believed[e.Path] || e.Watch
	case machine.List:
		r.watch = e.Watch && !s.believed[children]
		s.believed[children] = s.believed[children] || e.Watch
	case machine.Enter:
		if s.sim.rule == single {
			break
		}
		s.requests = append(s.requests, r)
		listing := &request{effect: machine.List{Epoch: e.Epoch, Ask: e.Ask}}
		if !s.sim.oneIn(20) { // or a reconnection came between the two, and the listing went first
			listing.after = r
		}
		r = listing
	}
	s.requests = append(s.requests, r)
}

// watches tells whether the path is watched, or its event is on its way.
func (s *session) watches(path string) bool {
	return slices.ContainsFunc(s.arms, func(a arm) bool { return a.path == path }) ||
		slices.ContainsFunc(s.of.fires, func(f fire) bool { return f.ev.Epoch == s.epoch && f.ev.Path == path })
}

// reading tells whether the path is being read with a watch.
func (s *session) reading(path string) bool {
	reads := func(r *request) bool {
		e, ok := r.effect.(machine.Read)
		return ok && e.Watch && e.Epoch == s.epoch && e.Path == path
	}
	return slices.ContainsFunc(s.requests, reads) || slices.ContainsFunc(s.of.answers, func(a answer) bool { return reads(a.to) })
}

// leaving tells whether the path is being deleted.
func (s *session) leaving(path string) bool {
	return slices.ContainsFunc(s.requests, func(r *request) bool { return deleted(r.effect) == path })
}

// deleted is the path of the own znode that an effect deletes.
func deleted(e machine.Effect) string {
	switch e := e.(type) {
	case machine.Remove:
		return e.Path
	case machine.Release:
		return e.Path
	}
	return ""
}

// runnable lists what the server may answer next.
func (s *session) runnable() []*request {
	if s.dead || s.suspended {
		return nil
	}
	if s.sim.rule >= delayed { // it relies on their order
		return s.requests[:min(len(s.requests), 1)]
	}
	var can []*request
	for _, r := range s.requests {
		if r.after == nil || r.after.ran {
			can = append(can, r)
		}
	}
	return can
}

// run carries a request out at the server; its answer sets out.
func (s *session) run(r *request) {
	r.ran = true
	s.sim.asked++
	s.requests = slices.DeleteFunc(s.requests, func(o *request) bool { return o == r })
	var ev machine.Event
	switch e := r.effect.(type) {
	case machine.Enter:
		ev = s.join(e)
	case machine.List:
		ev = s.list(e, r)
	case machine.Read:
		ev = s.read(e, r)
	case machine.Remove:
		ev = s.leave(e.Path)
	case machine.Release:
		s.sim.checkRelease(s.of, e)
		ev = s.leave(e.Path)
	case machine.Record:
		ev = s.writeRecord(e)
	case machine.Transact:
		ev = s.write(e)
	case machine.Downgrade:
		ev = s.exchange(e)
	}
	s.sim.Log("  server: %v → %v", r.effect, ev)
	if !r.orphan {
		s.of.answers = append(s.of.answers, answer{r, ev})
	}
}

// leave deletes the own znode. With a single znode it leaves another session's alone.
func (s *session) leave(path string) machine.Event {
	s.sim.leaves++
	if n := s.sim.find(path); n != nil && (s.sim.rule != single || n.owner == s.id) {
		if h := s.of.held; h != nil && h.live && h.node == n {
			s.sim.Failf("#%d holds %s, and deletes it", s.of.id, path)
		}
		s.sim.remove(n, false)
	}
	s.sim.strike(path)
	return machine.Removed{Epoch: s.epoch, Path: path}
}

func (s *session) join(e machine.Enter) machine.Event {
	if s.sim.oneIn(100) {
		return machine.Entered{Epoch: s.epoch, Err: errRefused}
	}
	if s.sim.rule == single {
		return s.createSingle()
	}
	if n := s.sim.find(e.Replace); n != nil {
		s.sim.remove(n, false)
	}
	s.sim.strike(e.Replace)
	s.sim.joins++
	n := s.sim.create(s.id, s.of.name, s.of.data)
	n.by, s.sim.entries[n.path] = s.of, &entry{by: s.of, session: s.id}
	entered := machine.Entered{Epoch: s.epoch, Path: n.path}
	if e.Replace == "" && !s.sim.oneIn(3) { // or the server can't tell, or the answer was lost and the znode found
		entered.Czxid, entered.Owner = n.czxid, n.owner
	}
	return entered
}

// write replaces data, if the versions are right. The answer may leave the outcome open.
func (s *session) write(e machine.Transact) machine.Event {
	sim, set := s.sim, e.Ops[0]
	n := sim.find(set.Path)
	if set.Path == parent {
		n = &sim.limit
	}
	done := machine.Transacted{Epoch: s.epoch, Ask: e.Ask, Failed: -1}
	unsure := done
	unsure.Code, unsure.Err = machine.Unknown, errStale
	switch {
	case sim.oneIn(200):
		done.Code, done.Err = machine.Refused, errRefused
		return done
	case n == nil || n.version != set.Version || len(e.Ops) > 1 && sim.limit.version != e.Ops[1].Version || sim.oneIn(30):
		return unsure
	}
	if set.Path != parent {
		sim.checkMark(n)
	}
	sim.set(n, set.Data)
	if sim.oneIn(30) {
		return unsure
	}
	return done
}

// exchange puts a reader into a writer's place.
func (s *session) exchange(e machine.Downgrade) machine.Event {
	sim := s.sim
	n := sim.find(e.Path)
	switch {
	case sim.oneIn(100):
		return machine.Downgraded{Epoch: s.epoch, Path: e.Path, Err: errRefused}
	case n == nil:
		sim.strike(e.Path) // the session looks again after what it did not find
		return machine.Downgraded{Epoch: s.epoch, Path: e.Path, Gone: true}
	}
	sim.remove(n, false)
	sim.strike(n.path)
	name, _ := n.contender().Downgraded(znode.GUID(fmt.Sprintf("%08x-0000-4000-8000-%012x", sim.zxid, n.owner)))
	next := sim.add(&node{path: parent + "/" + name, order: n.order, owner: n.owner, by: n.by, data: znode.Notes{Placed: e.Token}.Write(nil)})
	s.of.used[next.czxid] = true // the writer's possession goes on in it: no other comes of it
	return machine.Downgraded{Epoch: s.epoch, Path: e.Path, New: next.path}
}

func (s *session) list(e machine.List, r *request) machine.Event {
	s.sim.lists++
	if s.sim.oneIn(400) {
		if r.watch {
			delete(s.believed, children)
		}
		return machine.Listed{Epoch: s.epoch, Ask: e.Ask, Err: errRefused}
	}
	if r.watch {
		s.arms = append(s.arms, arm{children, r, s.sim.zxid})
	}
	return machine.Listed{Epoch: s.epoch, Ask: e.Ask, Names: s.sim.names()}
}

func (s *session) read(e machine.Read, r *request) machine.Event {
	n := s.sim.find(e.Path)
	if e.Path == parent {
		n = &s.sim.limit
	}
	refused := n != nil && s.sim.oneIn(400)
	if r.watch && (n == nil || refused) {
		delete(s.believed, e.Path)
	}
	switch {
	case n == nil:
		s.sim.strike(e.Path)
		return machine.Seen{Epoch: s.epoch, Path: e.Path, Ask: e.Ask}
	case refused:
		return machine.Seen{Epoch: s.epoch, Path: e.Path, Ask: e.Ask, Err: errRefused}
	}
	if r.watch {
		s.arms = append(s.arms, arm{e.Path, r, s.sim.zxid})
	}
	return machine.Seen{Epoch: s.epoch, Path: e.Path, Ask: e.Ask, Exists: true, Data: n.data, Stat: machine.Stat{Version: n.version, Czxid: n.czxid, Owner: n.owner}}
}

// unwatch takes the watch off a path, and off the reads that are to arm it.
func (s *session) unwatch(path string) {
	delete(s.believed, path)
	s.arms = slices.DeleteFunc(s.arms, func(a arm) bool { return a.path == path })
	for _, r := range s.requests {
		if e, ok := r.effect.(machine.Read); ok && e.Path == path {
			r.watch = false
		}
	}
}

// changed fires a watch, if one is armed. While the connection is down the server keeps what it has
// to say.
func (s *session) changed(path string, deleted bool) bool {
	i := slices.IndexFunc(s.arms, func(a arm) bool { return a.path == path })
	if i < 0 || s.suspended {
		return false
	}
	a := s.arms[i]
	s.arms = slices.Delete(s.arms, i, i+1)
	if s.sim.early {
		delete(s.believed, path)
	}
	ev := machine.Fired{Epoch: s.epoch, Path: path, Change: gone(deleted)}
	if path == children {
		ev = machine.Fired{Epoch: s.epoch, Path: parent, Change: machine.ChildrenChanged}
	}
	s.of.fires = append(s.of.fires, fire{a.by, s.of.said, path, ev})
	return true
}

func gone(deleted bool) machine.Change {
	if deleted {
		return machine.Deleted
	}
	return machine.DataChanged
}

// resume brings the connection back. The server tells, in whatever order, which of the watched
// znodes have changed.
func (s *session) resume() {
	s.suspended = false
	var due []arm
	for _, a := range s.arms {
		if s.sim.touched(a.path) > a.zxid {
			due = append(due, a)
		}
	}
	for len(due) > 0 {
		i := s.sim.Pick(len(due))
		path := due[i].path
		s.changed(path, path != parent && path != children && s.sim.find(path) == nil)
		due = slices.Delete(due, i, i+1)
	}
}

// touched is when something last happened to what a watch is on.
func (sim *simulation) touched(path string) int64 {
	switch n := sim.find(path); {
	case path == parent:
		return sim.limit.mzxid
	case path == children:
		return sim.pzxid
	case n == nil:
		return math.MaxInt64
	default:
		return n.mzxid
	}
}

// names lists the children, beginning anywhere.
func (sim *simulation) names() []string {
	var names []string
	for _, n := range sim.nodes {
		names = append(names, n.path[len(parent)+1:])
	}
	if len(names) > 1 {
		k := sim.Pick(len(names))
		names = slices.Concat(names[k:], names[:k])
	}
	return names
}
