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

// treeSet are the trees of a session. Its mutex is taken before a tree's.
type treeSet struct {
	mu  sync.Mutex
	all map[treeKey]*sharedTree
}

// join gives a reader its tree. first: that has to be run.
func (a *treeSet) join(ctx context.Context, s *Session, key treeKey, r *treeReader) (t *sharedTree, first bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t = a.all[key]; t == nil {
		first = true
		t = &sharedTree{
			session: s, key: key, at: s.space.path(key.path), wake: make(chan struct{}, 1),
			machine: trees.New(key.depth, key.most), readers: make(map[*treeReader]struct{}),
		}
		t.ctx, t.cancel = context.WithCancel(s.tasks.life)
		if a.all == nil {
			a.all = make(map[treeKey]*sharedTree)
		}
		a.all[key] = t
	}
	t.mu.Lock()
	defer t.mu.Unlock()
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
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, is := t.readers[r]; is {
		delete(t.readers, r)
		close(r.c)
	}
	if len(t.readers) == 0 {
		a.remove(t)
		t.cancel()
	}
}

// remove lets the next reader begin anew. With the mutex.
func (a *treeSet) remove(t *sharedTree) {
	if a.all[t.key] == t {
		delete(a.all, t.key)
	}
}

// has tells whether a tree has its root there.
func (a *treeSet) has(at string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range a.all {
		if t.at == at {
			return true
		}
	}
	return false
}

// each does something with the trees that follow an epoch, with their mutexes.
func (a *treeSet) each(e *epoch, do func(t *sharedTree)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range a.all {
		t.within(e, do)
	}
}

// fired takes an event.
func (a *treeSet) fired(e *epoch, ev zkconn.Fired) {
	a.each(e, func(t *sharedTree) {
		if path, within := t.relative(ev.Path); within {
			t.machine.Event(ev.Type, path)
			t.nudge()
		}
	})
}

// down takes the loss of a connection, or the end of an epoch with its cause. What a tree knows is
// forgotten if the servers may have, or if something here has failed.
func (a *treeSet) down(e *epoch, cause error) {
	a.each(e, func(t *sharedTree) {
		t.down = true
		t.machine.Down()
		t.publish()
		if errors.Is(cause, ErrDataLoss) || errors.Is(cause, ErrRestarted) {
			t.machine.Forget()
		}
		t.nudge()
	})
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
	// Of its goroutine.
	asks  *zkconn.Tree // on the connection of the last epoch that it has followed
	lost  losses       // at the request for its watch
	plain bool         // it has no such watch: the servers lack it
	cuts  int          // connections in a row that were lost soon, with reads on them

	mu      sync.Mutex // guards what follows
	machine *trees.Machine
	epoch   *epoch // that it follows
	down    bool   // the connection was lost that it has followed: answers on another do not count
	readers map[*treeReader]struct{}
	last    *trees.Tree // as published
}

// mostTreeReads is how many reads of a tree are under way at a time.
const mostTreeReads = 512

func (t *sharedTree) within(e *epoch, do func(t *sharedTree)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.epoch == e {
		do(t)
	}
}

func (t *sharedTree) nudge() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

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

// run follows the tree until nobody reads it any more, or there is too much, or the session ends.
func (t *sharedTree) run() {
	var cause error
	defer func() { t.end(cause) }()
	s := t.session
	var at connRef
	for try := 1; ; try++ {
		var err error
		if at, err = s.sender.conn(t.ctx, nil, at); err != nil {
			return
		}
		t.asks = at.epoch.conn.Tree(t.at)
		began := time.Now()
		if err = t.attach(at.epoch); err == nil {
			try = 1
			err = t.follow()
		}
		switch {
		case t.ctx.Err() != nil:
			return
		case err == ErrTooMany:
			cause = err
			return
		case definite(err):
			s.sender.pause(t.ctx, backoff(s.sender.tasks.source, try))
			at = connRef{}
		default:
			at = at.lost(err)
			if time.Since(began) > time.Minute {
				t.cuts = 0 // then it was not for what is read
			}
			if errors.Is(err, zkconn.ErrCutOff) {
				t.cuts++
			}
			s.sender.pauseAfterLoss(t.ctx, t.cuts)
		}
	}
}

// end closes what the readers have, and gives the watch back.
func (t *sharedTree) end(cause error) {
	s := t.session
	s.trees.mu.Lock()
	s.trees.remove(t)
	t.mu.Lock()
	for r := range t.readers {
		if cause != nil {
			r.offer(&trees.Tree{}, s.space.failed("watch tree", t.key.path, cause))
		}
		delete(t.readers, r)
		close(r.c)
		r.stop()
	}
	t.mu.Unlock()
	s.trees.mu.Unlock()
	t.cancel()
	if t.asks != nil && !t.plain {
		_ = t.asks.Unwatch(func() bool { return s.trees.has(t.at) }) // without a connection there is no watch
	}
}

// attach begins to follow on a connection. First it sets the watch, and then has the server tell
// what has changed before: servers set such a watch without telling that.
func (t *sharedTree) attach(e *epoch) error {
	t.mu.Lock()
	first := t.epoch != e
	t.epoch, t.down = e, false
	if first && t.plain {
		t.machine.Forget() // its watches have ended with the epoch before
	}
	t.machine.Down()
	zxid, data, children := t.machine.Known()
	t.mu.Unlock()
	if t.plain {
		return t.attachPlain(e)
	}
	refresh := func(at string) {
		t.within(e, func(t *sharedTree) {
			path, _ := t.relative(at)
			t.machine.Refresh(path)
		})
	}
	if len(data) > 0 { // the root is the first, and is not probed when it has its watch
		if err := t.asks.Probe(zxid, t.watches(data[:1], children[:1]), refresh, func(int64) {}); err != nil {
			return err
		}
		data, children = data[1:], children[1:]
	} else {
		refresh(t.at)
	}
	switch err := t.lost.try(e.conn, func(c *zkconn.Conn) error { return c.Tree(t.at).Watch() }); {
	case err == nil:
		return t.asks.Probe(zxid, t.watches(data, children), refresh, func(zxid int64) { t.probed(e, zxid) })
	case !definite(err) || errors.Is(err, zkconn.ErrThrottled):
		return err
	default:
		t.plain = true
		t.session.log.Warn("the servers have no watch for a whole tree: each znode has its own", "path", t.session.Path(t.key.path), "cause", err)
	}
	t.within(e, func(t *sharedTree) {
		t.machine.SetPlain()
		t.machine.Down()
	})
	return t.attachPlain(e)
}

// attachPlain is attach where each read arms a watch. The session has armed them again, and what
// has changed was told right then.
func (t *sharedTree) attachPlain(e *epoch) error {
	t.asks.Keep()
	root := []jute.Request{{Op: jute.OpGetData, Path: t.at}}
	return t.asks.Read(root, true, func(ask *jute.Request, r jute.Result, err error, zxid int64) {
		t.told(e, ask, r, err, zxid)
		t.probed(e, zxid)
	})
}

func (t *sharedTree) watches(data, children []string) (all []zkconn.Watch) {
	for _, path := range data {
		all = append(all, zkconn.Watch{Path: t.absolute(path)})
	}
	for _, path := range children {
		all = append(all, zkconn.Watch{Path: t.absolute(path), Children: true})
	}
	return all
}

// probed takes that all changes were told.
func (t *sharedTree) probed(e *epoch, zxid int64) {
	t.within(e, func(t *sharedTree) {
		if !t.down {
			t.machine.Probed(zxid)
			t.publish()
		}
	})
}

// told takes an answer.
func (t *sharedTree) told(e *epoch, ask *jute.Request, r jute.Result, err error, zxid int64) {
	t.within(e, func(t *sharedTree) {
		if path, within := t.relative(ask.Path); within && !t.down {
			t.machine.Answer(trees.Read{Path: path, Op: ask.Op}, &r, err, zxid, errors.Is(err, ErrNoNode))
			t.publish()
		}
	})
}

// follow reads what is dirty until the connection is lost.
func (t *sharedTree) follow() error {
	for try := 1; ; {
		t.mu.Lock()
		e, again := t.epoch, t.publish()
		most := mostTreeReads
		if t.cuts > 1 {
			most = 1 // servers may hang up at many in one
		}
		reads, full, down := t.machine.Next(most), t.machine.Full(), t.down
		t.mu.Unlock()
		switch {
		case full:
			return ErrTooMany
		case down:
			return zkconn.ErrNotSent
		case len(reads) > 0:
			err := t.ask(e, reads)
			if err != nil && !errors.Is(err, zkconn.ErrThrottled) {
				return err
			}
			if try++; err == nil {
				try = 1
				continue
			}
			t.session.sender.pause(t.ctx, backoff(t.session.sender.tasks.source, try))
			t.within(e, func(t *sharedTree) { t.machine.Again() })
			continue
		}
		var due <-chan time.Time
		if !again.IsZero() {
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

func (t *sharedTree) ask(e *epoch, reads []trees.Read) error {
	var asks []jute.Request
	for _, r := range reads {
		ask := jute.Request{Op: r.Op, Path: t.absolute(r.Path)}
		if err := validate(ask.Path); err != nil {
			t.told(e, &ask, jute.Result{}, err, 0)
			continue
		}
		asks = append(asks, ask)
	}
	if len(asks) == 0 {
		return nil
	}
	return t.asks.Read(asks, t.plain, func(ask *jute.Request, r jute.Result, err error, zxid int64) { t.told(e, ask, r, err, zxid) })
}
