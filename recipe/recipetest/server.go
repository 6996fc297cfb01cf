package recipetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver/tree"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
)

// carryOut carries out a request and posts the answer.
func (w *World) carryOut(a *Actor, r *request) {
	a.requests = slices.DeleteFunc(a.requests, func(o *request) bool { return o == r })
	answer := func(ev machine.Event) *delivery {
		if r.orphan || a.killed {
			return nil
		}
		return a.post(ev, r.epoch, r)
	}
	if no := w.denied(r.effect); no != nil {
		answer(no)
		return
	}
	switch e := r.effect.(type) {
	case machine.List:
		ev := w.list(e)
		a.arm(e.Watch && ev.Code == machine.Done, watch{e.Path, true}, answer(ev))
	case machine.Read:
		ev := w.read(e)
		a.arm(e.Watch && ev.Exists, watch{e.Path, false}, answer(ev))
	case machine.MultiRead:
		if w.nextQuery(e, r); len(r.answers) < len(e.Queries) {
			a.requests = append(a.requests, r) // others may write before the next query
			return
		}
		answer(machine.MultiSeen{Epoch: e.Epoch, Ask: e.Ask, Answers: r.answers})
	case machine.Transact:
		answer(w.transact(a, e))
	case machine.Ensure:
		w.ensure(a, e.Path, e.Container, e.Data)
		answer(machine.Ensured{Epoch: e.Epoch, Ask: e.Ask})
	case machine.Remove:
		code, _, _ := w.write(a, []machine.Op{{Do: machine.Delete, Path: e.Path, Version: machine.Any}})
		if code == jute.NotEmpty && !a.killed {
			a.requests = append(a.requests, r) // until it is gone
			return
		}
		answer(machine.Removed{Epoch: e.Epoch, Ask: e.Ask, Path: e.Path})
	}
}

func (w *World) list(e machine.List) machine.Listed {
	n := w.tree.Get(e.Path)
	if n == nil {
		return machine.Listed{Epoch: e.Epoch, Ask: e.Ask, Path: e.Path, Code: machine.NoNode, Err: errors.New("no node")}
	}
	var names []string
	n.Children(func(c *tree.Node) { names = append(names, c.Name()) })
	slices.Sort(names) // a schedule that is run again is the same
	return machine.Listed{Epoch: e.Epoch, Ask: e.Ask, Path: e.Path, Names: names, Stat: stat(n)}
}

func (w *World) read(e machine.Read) machine.Seen {
	n := w.tree.Get(e.Path)
	if n == nil {
		return machine.Seen{Epoch: e.Epoch, Ask: e.Ask, Path: e.Path}
	}
	return machine.Seen{Epoch: e.Epoch, Ask: e.Ask, Path: e.Path, Exists: true, Data: slices.Clone(n.Data()), Stat: stat(n)}
}

// arm arms the watch of a read, unless there is no answer.
func (a *Actor) arm(wanted bool, at watch, answer *delivery) {
	if wanted && answer != nil {
		a.watches[at] = answer
	}
}

// nextQuery carries out the next query.
func (w *World) nextQuery(e machine.MultiRead, r *request) {
	if len(r.answers) == len(e.Queries) {
		return // there is none
	}
	one := single(e, len(r.answers))
	if no := w.denied(one); no != nil {
		r.answers = append(r.answers, no)
		return
	}
	switch e := one.(type) {
	case machine.List:
		l := w.list(e)
		l.Stat = machine.Stat{}
		r.answers = append(r.answers, l)
	case machine.Read:
		r.answers = append(r.answers, w.read(e))
	}
}

// single is the request for one query alone.
func single(e machine.MultiRead, query int) machine.Effect {
	q := e.Queries[query]
	if q.Children {
		return machine.List{Epoch: e.Epoch, Ask: e.Ask, Path: q.Path}
	}
	return machine.Read{Epoch: e.Epoch, Ask: e.Ask, Path: q.Path}
}

func (w *World) transact(a *Actor, e machine.Transact) machine.Transacted {
	if tooLarge(e.Ops) {
		return refused(e).(machine.Transacted)
	}
	code, failed, results := w.commit(a, e.Ops, w.forbids)
	t := machine.Transacted{Epoch: e.Epoch, Ask: e.Ask, Failed: -1, Results: results}
	if code != jute.OK {
		t.Failed, t.Code, t.Err = failed, codeOf(code), errors.New(code.String())
	}
	if code == jute.NoAuth {
		t.Err = ErrRefused
	}
	return t
}

// write carries out a transaction that needs no rights.
func (w *World) write(a *Actor, ops []machine.Op) (code jute.Code, failed int, results []machine.Result) {
	return w.commit(a, ops, func(machine.Op) bool { return false })
}

// commit carries out a transaction, as the real server does: it is checked as a whole, and then
// applied.
func (w *World) commit(a *Actor, ops []machine.Op, forbids func(machine.Op) bool) (code jute.Code, failed int, results []machine.Result) {
	w.zxid++ // a failed write uses one up too
	plan := w.tree.Plan(tree.Caller{Session: a.session})
	for i, op := range ops {
		if forbids(op) {
			return jute.NoAuth, i, nil
		}
		if op.Ephemeral && op.Sequential { // as the session does
			h := uint64(w.zxid) * 0x9e3779b97f4a7c15 // scattered: names do not tell the order
			g := znode.GUID(fmt.Sprintf("%08x-%04x-4000-8000-%012x", h>>32, h>>16&0xffff, i))
			op.Path = znode.Join(parent(op.Path), znode.Protect(g, op.Path[strings.LastIndexByte(op.Path, '/')+1:]))
		}
		if code := plan.Add(requestOf(op)); code != jute.OK {
			return code, i, nil
		}
	}
	for i := range plan.Changes {
		c := &plan.Changes[i]
		n := w.tree.Apply(c, w.zxid, w.now)
		r := machine.Result{}
		switch c.Kind {
		case tree.Create:
			r.Path = c.Path
			w.fire(watch{parent(c.Path), true}, machine.ChildrenChanged)
		case tree.Delete:
			w.fire(watch{c.Path, false}, machine.Deleted)
			w.fire(watch{c.Path, true}, machine.Deleted)
			w.fire(watch{parent(c.Path), true}, machine.ChildrenChanged)
		case tree.SetData:
			r.Stat = stat(n)
			w.fire(watch{c.Path, false}, machine.DataChanged)
		}
		results = append(results, r)
	}
	return jute.OK, -1, results
}

// fire posts the event of a watch to each actor that has armed it.
func (w *World) fire(at watch, change machine.Change) {
	for _, a := range w.actors {
		armed := a.watches[at]
		if armed == nil || a.killed || !a.sessionLives {
			continue
		}
		delete(a.watches, at)
		d := a.post(machine.Fired{Epoch: a.epochs, Path: at.path, Change: change}, a.epochs, nil)
		d.after = append(a.ordered(), armed) // behind the answer of the read that armed it
		d.after = slices.DeleteFunc(d.after, func(o *delivery) bool { return o == d })
	}
}

// ensure makes the missing znodes of a path.
func (w *World) ensure(a *Actor, path string, container bool, data []byte) {
	if path == "/" || path == "" || w.tree.Get(path) != nil {
		return
	}
	w.ensure(a, parent(path), true, nil)
	op := jute.OpCreate
	if container {
		op = jute.OpCreateContainer
	}
	w.zxid++
	q := &jute.Request{Op: op, Path: path, Data: data, ACL: jute.OpenACL(), TTL: -1}
	if container {
		q.Flags = jute.FlagContainer
	}
	who := tree.Caller{Session: a.session}
	if c, code := w.tree.Prepare(who, q); code == jute.OK {
		w.tree.Apply(&c, w.zxid, w.now)
		w.fire(watch{parent(path), true}, machine.ChildrenChanged)
	}
}

// closeSession ends a session and deletes its znodes.
func (w *World) closeSession(a *Actor) {
	a.sessionLives = false
	w.deleteAll(w.tree.Ephemerals(a.session), a)
}

func (w *World) deleteAll(paths []string, a *Actor) {
	for _, path := range paths {
		_, _, _ = w.write(a, []machine.Op{{Do: machine.Delete, Path: path, Version: machine.Any}}) // it has no children, and is there
	}
}

// Reap deletes the empty containers that have had children, as a server does from time to time.
func (w *World) Reap() {
	for _, path := range w.tree.Reapable(w.now) {
		w.zxid++
		q := &jute.Request{Op: jute.OpDeleteContainer, Path: path}
		if c, code := w.tree.Prepare(tree.Caller{}, q); code == jute.OK {
			w.tree.Apply(&c, w.zxid, w.now)
			w.fire(watch{path, false}, machine.Deleted)
			w.fire(watch{path, true}, machine.Deleted)
			w.fire(watch{parent(path), true}, machine.ChildrenChanged)
		}
	}
}

// Delete deletes a znode, as an administrator does; false if that failed.
func (w *World) Delete(path string) bool {
	w.log("an administrator deletes %s", path)
	code, _, _ := w.write(&Actor{}, []machine.Op{{Do: machine.Delete, Path: path, Version: machine.Any}})
	return code == jute.OK
}

func requestOf(op machine.Op) *jute.Request {
	q := &jute.Request{Path: op.Path, Data: op.Data, Version: op.Version, TTL: -1}
	switch op.Do {
	case machine.Create:
		q.Op, q.ACL = jute.OpCreate, jute.OpenACL()
		if op.Ephemeral {
			q.Flags |= jute.FlagEphemeral
		}
		if op.Sequential {
			q.Flags |= jute.FlagSequential
		}
	case machine.Set:
		q.Op = jute.OpSetData
	case machine.Delete:
		q.Op = jute.OpDelete
	case machine.Check:
		q.Op = jute.OpCheck
	}
	return q
}

func stat(n *tree.Node) machine.Stat {
	s := n.Stat()
	return machine.Stat{
		Czxid: s.Czxid, Mzxid: s.Mzxid, Pzxid: s.Pzxid, Ctime: s.Ctime, Mtime: s.Mtime,
		Version: s.Version, Cversion: s.Cversion, Owner: s.EphemeralOwner, Children: s.NumChildren,
	}
}

func codeOf(c jute.Code) machine.Code {
	switch c {
	case jute.NoNode:
		return machine.NoNode
	case jute.NodeExists:
		return machine.NodeExists
	case jute.BadVersion:
		return machine.BadVersion
	case jute.NotEmpty:
		return machine.NotEmpty
	}
	return machine.Refused
}

func parent(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}
