package session

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/session/internal/trees"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// treeSet are the trees of a session.
type treeSet struct {
	mu  sync.Mutex // guards the trees too
	all map[treeKey]*sharedTree
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
	wake    chan struct{} // full: there may be something to do
	lost    losses        // at the request for its watch; of its goroutine

	// Under the set's mutex. The first two are set by its goroutine.
	epoch   *epoch // that it follows
	plain   bool   // it has no such watch: the servers lack it
	machine *trees.Machine
	readers map[*treeReader]struct{}
	last    *trees.Tree // as published
}

// mostTreeReads is how many reads of a tree are asked for at a time.
const mostTreeReads = 1024

// join gives a reader its tree. first: that has to be run.
func (a *treeSet) join(ctx context.Context, s *Session, key treeKey, r *treeReader) (t *sharedTree, first bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t = a.all[key]; t == nil {
		first = true
		t = &sharedTree{session: s, key: key, at: s.space.path(key.path), wake: make(chan struct{}, 1), readers: make(map[*treeReader]struct{})}
		t.ctx, t.cancel = context.WithCancel(s.tasks.life)
		t.forget()
		if a.all == nil {
			a.all = make(map[treeKey]*sharedTree)
		}
		a.all[key] = t
	}
	t.readers[r] = struct{}{}
	if t.last != nil {
		r.offer(t.last, nil)
	}
	r.stop = context.AfterFunc(ctx, func() { a.leave(t, r) })
	return t, first
}

// leave takes a reader off. With the last one the tree ends.
func (a *treeSet) leave(t *sharedTree, r *treeReader) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, is := t.readers[r]; is {
		delete(t.readers, r)
		close(r.c)
	}
	if len(t.readers) == 0 {
		a.remove(t)
	}
}

// remove ends a tree. The next reader begins anew. With the mutex.
func (a *treeSet) remove(t *sharedTree) {
	if a.all[t.key] == t {
		delete(a.all, t.key)
	}
	t.cancel()
}

// has tells whether a tree has its root there.
func (a *treeSet) has(at string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key := range a.all {
		if a.all[key].at == at {
			return true
		}
	}
	return false
}

// each does something with the trees that follow an epoch, and wakes them.
func (a *treeSet) each(e *epoch, do func(t *sharedTree)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range a.all {
		if t.epoch != e {
			continue
		}
		do(t)
		select {
		case t.wake <- struct{}{}:
		default:
		}
	}
}

// fired takes an event.
func (a *treeSet) fired(e *epoch, ev zkconn.Fired) {
	a.each(e, func(t *sharedTree) {
		if path, within := t.relative(ev.Path); within {
			t.machine.Event(ev.Type, path)
		}
	})
}

// down takes the loss of a connection, or the end of an epoch with its cause. What a tree knows is
// forgotten if the servers may have, or if something here has failed.
func (a *treeSet) down(e *epoch, cause error) {
	a.each(e, func(t *sharedTree) {
		t.machine.Down()
		t.publish()
		if errors.Is(cause, ErrDataLoss) || errors.Is(cause, ErrRestarted) {
			t.forget()
		}
	})
}

// forget has everything read anew. With the mutex.
func (t *sharedTree) forget() { t.machine = trees.New(t.key.depth, t.key.most, t.plain) }

// relative is a path from the root on; false if it is elsewhere.
func (t *sharedTree) relative(path string) (string, bool) {
	rest, within := strings.CutPrefix(path, strings.TrimSuffix(t.at, "/"))
	if !within || rest != "" && rest[0] != '/' {
		return "", false
	}
	return strings.TrimPrefix(rest, "/"), true
}

func (t *sharedTree) absolute(path string) string {
	if path == "" {
		return t.at
	}
	return strings.TrimSuffix(t.at, "/") + "/" + path
}

// publish publishes what is due, and tells when to ask again. With the mutex.
func (t *sharedTree) publish() time.Time {
	out, again := t.machine.Due(time.Now())
	if out != nil {
		t.last = out
		for r := range t.readers {
			r.offer(out, nil)
		}
	}
	return again
}

// told passes on what a connection has told, unless its epoch is over.
func (t *sharedTree) told(e *epoch, do func(m *trees.Machine)) {
	t.session.trees.mu.Lock()
	defer t.session.trees.mu.Unlock()
	if t.epoch == e {
		do(t.machine)
		t.publish()
	}
}

// run follows the tree until nobody reads it any more, or there is too much, or the session ends.
func (t *sharedTree) run() {
	var cause error
	defer func() { t.end(cause) }()
	q := t.session.sender
	var at connRef
	for try := 1; ; try++ {
		var err error
		if at, err = q.conn(t.ctx, nil, at); err != nil {
			return
		}
		if err = t.attach(at.epoch); err == nil {
			err = t.follow(at.epoch)
		}
		switch {
		case t.ctx.Err() != nil:
			return
		case err == ErrTooMany:
			cause = err
			return
		case definite(err):
			at = connRef{}
		default:
			at = at.lost(err)
			if !errors.Is(err, zkconn.ErrCutOff) {
				try = 0 // it was not for what the tree asks
			}
		}
		q.pauseAfterLoss(t.ctx, try)
	}
}

// end closes what the readers have, and gives the watch back.
func (t *sharedTree) end(cause error) {
	a := &t.session.trees
	a.mu.Lock()
	a.remove(t)
	for r := range t.readers {
		if cause != nil {
			r.offer(&trees.Tree{}, t.session.space.failed("watch tree", t.key.path, cause))
		}
		close(r.c)
		r.stop()
	}
	clear(t.readers)
	a.mu.Unlock()
	if t.epoch != nil && !t.plain {
		t.epoch.conn.Unfollow(t.at, func() bool { return a.has(t.at) })
	}
}

// attach begins to follow on a connection: with a watch, or else it forgets what it knows, and each
// read is to arm a watch.
func (t *sharedTree) attach(e *epoch) error {
	a, watches := &t.session.trees, make(map[zkconn.Watch]bool)
	a.mu.Lock()
	if t.epoch = e; t.plain {
		t.forget()
	}
	since := t.machine.Resume(func(path string, children bool) {
		path = t.absolute(path)
		if watches[zkconn.Watch{Path: path}] = false; children {
			watches[zkconn.Watch{Path: path, Children: true}] = false
		}
	})
	a.mu.Unlock()
	probed := func(zxid int64) { t.told(e, func(m *trees.Machine) { m.Probed(zxid) }) }
	if t.plain {
		e.conn.KeepWatches()
		probed(0)
		return nil
	}
	refresh := func(at string) {
		path, _ := t.relative(at)
		t.told(e, func(m *trees.Machine) { m.Event(jute.NodeCreated, path) })
	}
	err := t.lost.try(e.conn, func(c *zkconn.Conn) error { return c.Follow(t.at, since, watches, refresh, probed) })
	switch {
	case err == nil:
		t.lost = losses{}
		return nil
	case !definite(err), errors.Is(err, zkconn.ErrThrottled), errors.Is(err, zkconn.ErrCalledOff):
		return err
	}
	t.session.log.Warn("the servers have no watch for a whole tree: each znode has its own", "path", t.session.Path(t.key.path), "cause", err)
	a.mu.Lock()
	t.plain = true
	a.mu.Unlock()
	return t.attach(e)
}

// follow reads what is dirty until the connection is lost.
func (t *sharedTree) follow(e *epoch) error {
	a, q := &t.session.trees, t.session.sender
	for try := 1; ; {
		a.mu.Lock()
		again := t.publish()
		reads, full, live := t.machine.Next(mostTreeReads), t.machine.Full(), t.machine.Live()
		a.mu.Unlock()
		var due <-chan time.Time
		switch {
		case full:
			return ErrTooMany
		case !live:
			return zkconn.ErrNotSent
		case len(reads) > 0:
			if busy, err := t.ask(e, reads); err != nil {
				return err
			} else if try++; !busy {
				try = 1
				continue
			}
			q.pause(t.ctx, backoff(q.tasks.source, try))
			continue
		case !again.IsZero():
			due = time.After(time.Until(again))
		}
		select {
		case <-t.wake:
		case <-due:
		case <-t.ctx.Done():
			return context.Cause(t.ctx)
		case <-t.session.lifetime.end.Done():
			return zkconn.ErrEnded
		}
	}
}

// ask asks and waits for the answers. busy: the server is overloaded, and has not carried out some.
func (t *sharedTree) ask(e *epoch, reads []trees.Read) (busy bool, err error) {
	var p zkconn.Pipeline
	for _, r := range reads {
		told := func(a *jute.Reply, err error) { t.told(e, func(m *trees.Machine) { m.Answer(r, a, err) }) }
		path := t.absolute(r.Path)
		if err := validate(path); err != nil {
			told(new(jute.Reply), err)
			continue
		}
		p.AddTold(jute.Request{Op: r.Op, Path: path, Watch: t.plain}, func(a *jute.Reply, err error) {
			busy = busy || a.Err == jute.ThrottledOp
			told(a, err)
		})
	}
	if _, err = p.Send(e.conn); err != nil {
		return false, err
	}
	return busy, nil
}
