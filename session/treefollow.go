package session

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/session/internal/trees"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// treeSet are the trees of a session.
type treeSet struct {
	mu    sync.Mutex // guards the trees too
	all   map[treeKey]*sharedTree
	plain bool // the servers lack the watch, as one of the trees has found out
}

// sharedTree is a tree that any number of readers share, for as long as it has one. The goroutine
// of the connection tells it of events and answers, in order; one of its own asks for what its
// machine wants to be read.
type sharedTree struct {
	session *Session
	key     treeKey
	at      string          // the root, absolute
	ctx     context.Context // ends with the session, and when nobody reads the tree any more
	cancel  context.CancelFunc
	wake    *notify.Latest[struct{}] // there may be something to do
	lost    losses                   // at the request for its watch; of its goroutine
	tries   int                      // since all was known; of its goroutine

	// Under the set's mutex.
	plain   bool // it has no such watch; set by its goroutine
	machine *trees.Machine
	readers map[*treeReader]struct{}
	last    Tree // as published
}

// mostTreeReads is how many reads of a tree are asked for at a time.
const mostTreeReads = 1024

// join gives a reader its tree. first: that has to be run.
func (a *treeSet) join(ctx context.Context, s *Session, key treeKey, r *treeReader) (t *sharedTree, first bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t = a.all[key]; t == nil {
		first = true
		t = &sharedTree{session: s, key: key, at: s.space.path(key.path), wake: notify.NewLatest[struct{}](), readers: make(map[*treeReader]struct{})}
		t.ctx, t.cancel = context.WithCancel(s.tasks.life)
		t.forget()
		if a.all == nil {
			a.all = make(map[treeKey]*sharedTree)
		}
		a.all[key] = t
	}
	t.readers[r] = struct{}{}
	if t.last.root != nil {
		r.offer(t.last)
	}
	r.stop = context.AfterFunc(ctx, func() { a.leave(t, r) })
	return t, first
}

// leave takes a reader off. With the last one the tree ends.
func (a *treeSet) leave(t *sharedTree, r *treeReader) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t.close(r); len(t.readers) == 0 {
		a.remove(t)
	}
}

func (t *sharedTree) close(r *treeReader) {
	if _, is := t.readers[r]; is {
		delete(t.readers, r)
		close(r.c)
		r.stop()
	}
}

// remove ends a tree. The next reader begins anew. With the mutex.
func (a *treeSet) remove(t *sharedTree) {
	if a.all[t.key] == t {
		delete(a.all, t.key)
	}
	t.cancel()
}

// each does something with the trees, and wakes them.
func (a *treeSet) each(do func(t *sharedTree)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range a.all {
		do(t)
		t.wake.Publish(struct{}{})
	}
}

// fired takes an event. None comes of a connection that is lost, nor of an epoch that is over.
func (a *treeSet) fired(ev zkconn.Fired) {
	a.each(func(t *sharedTree) {
		if path, within := strings.CutPrefix(ev.Path+"/", strings.TrimSuffix(t.at, "/")+"/"); within {
			t.machine.Event(ev.Type, strings.TrimSuffix(path, "/"))
		}
	})
}

// down takes the loss of a connection, or the end of an epoch with its cause. What a tree knows is
// forgotten if the servers may have, or if something here has failed.
func (a *treeSet) down(cause error) {
	forget := errors.Is(cause, ErrDataLoss) || errors.Is(cause, ErrRestarted)
	a.each(func(t *sharedTree) {
		if t.machine.Down(); t.last.root != nil && !t.last.Stale {
			t.last.Stale = true
			t.offer()
		}
		if forget {
			t.forget()
		}
	})
}

// forget has everything read anew. With the mutex.
func (t *sharedTree) forget() { t.machine = trees.New(t.key.depth, t.key.most, t.plain) }

// publish publishes what is due, and tells when to ask again. With the mutex.
func (t *sharedTree) publish() time.Time {
	root, zxid, again := t.machine.Due(time.Now())
	if root != nil {
		t.last = Tree{Zxid: zxid, root: root}
		t.offer()
	}
	return again
}

func (t *sharedTree) offer() {
	for r := range t.readers {
		r.offer(t.last)
	}
}

// told passes on what a connection has told.
func (t *sharedTree) told(do func(m *trees.Machine)) {
	t.session.trees.mu.Lock()
	defer t.session.trees.mu.Unlock()
	do(t.machine)
	t.publish()
}

func (t *sharedTree) absolute(path string) string {
	return cmp.Or(strings.TrimSuffix(strings.TrimSuffix(t.at, "/")+"/"+path, "/"), "/")
}

// run follows the tree until nobody reads it any more, or there is too much, or the session ends.
func (t *sharedTree) run() {
	var cause error
	var at connRef
	defer func() { t.end(at.epoch, cause) }()
	q := t.session.sender
	for {
		var err error
		if at, err = q.conn(t.ctx, nil, at); err != nil {
			return // there may be a connection all the same
		}
		switch err = t.follow(at.epoch); {
		case t.ctx.Err() != nil:
			return
		case err == ErrTooMany:
			cause = err
			return
		case definite(err):
			at = connRef{}
		default:
			t.told((*trees.Machine).Down) // a plain one may not know it
			at = at.lost(err)
		}
		t.tries++
		q.pauseAfterLoss(t.ctx, t.tries)
	}
}

// end closes what the readers have, and gives the watch back, which another tree may have left to
// this one that has set none: so it is that of the last connection known.
func (t *sharedTree) end(e *epoch, cause error) {
	a := &t.session.trees
	a.mu.Lock()
	a.remove(t)
	for r := range t.readers {
		if cause != nil {
			r.offer(Tree{Err: t.session.space.failed("watch tree", t.key.path, cause)})
		}
		t.close(r)
	}
	a.mu.Unlock()
	if e != nil && !t.plain {
		zkconn.Unfollow(e.conn, t.at, func() bool {
			a.mu.Lock()
			defer a.mu.Unlock()
			return slices.ContainsFunc(slices.Collect(maps.Values(a.all)), func(o *sharedTree) bool { return o.at == t.at })
		})
	}
}

// follow reads what is dirty until the connection is lost. An overloaded server is asked again.
func (t *sharedTree) follow(e *epoch) error {
	for attached := false; ; {
		t.session.trees.mu.Lock()
		again := t.publish()
		reads, live, full := t.machine.Next(mostTreeReads)
		t.session.trees.mu.Unlock()
		var err error
		var due <-chan time.Time
		switch {
		case full:
			return ErrTooMany
		case !live && attached:
			return zkconn.ErrNotSent
		case !live:
			attached, err = true, t.attach(e)
		case len(reads) > 0:
			err = t.ask(e, reads)
		default:
			if t.tries = 0; !again.IsZero() {
				due = time.After(time.Until(again))
			}
			select {
			case <-t.wake.C():
			case <-due:
			case <-t.ctx.Done():
				err = context.Cause(t.ctx)
			case <-t.session.lifetime.end.Done():
				err = zkconn.ErrEnded
			}
		}
		if err != nil {
			return err
		}
	}
}

// attach begins to follow on a connection: with a watch, or else it forgets what it knows, and each
// read is to arm a watch.
func (t *sharedTree) attach(e *epoch) error {
	a, watches := &t.session.trees, make(map[zkconn.Watch]bool)
	a.mu.Lock()
	if t.plain = a.plain; t.plain {
		t.forget()
	}
	since := t.machine.Resume(func(path string, children bool) {
		path = t.absolute(path)
		if watches[zkconn.Watch{Path: path}] = false; children {
			watches[zkconn.Watch{Path: path, Children: true}] = false
		}
	})
	a.mu.Unlock()
	probed := func() { t.told((*trees.Machine).Probed) }
	if t.plain {
		zkconn.KeepWatches(e.conn, 1)
		probed()
		return nil
	}
	err := t.lost.try(e.conn, func(c *zkconn.Conn) error { return zkconn.Follow(c, t.at, since, watches, probed) })
	switch {
	case err == nil:
		t.lost = losses{}
		fallthrough
	case !definite(err), errors.Is(err, zkconn.ErrThrottled), err == zkconn.ErrCalledOff:
		return err
	}
	a.mu.Lock()
	known := a.plain
	a.plain = true
	a.mu.Unlock()
	if !known {
		t.session.log.Warn("the servers have no watch for a whole tree: each znode has its own", "path", t.session.Path(t.key.path), "cause", err)
	}
	return t.attach(e)
}

// ask asks and waits for the answers.
func (t *sharedTree) ask(e *epoch, reads []trees.Read) error {
	var p zkconn.Pipeline
	throttled := false
	for _, r := range reads {
		p.AddTold(jute.Request{Op: r.Op, Path: t.absolute(r.Path), Watch: t.plain}, func(a *jute.Reply, err error) {
			throttled = throttled || a.Err == jute.ThrottledOp
			t.told(func(m *trees.Machine) { m.Answer(r, a, err) })
		})
	}
	if _, err := p.Send(e.conn); err != nil || !throttled {
		return err
	}
	return zkconn.ErrThrottled
}
