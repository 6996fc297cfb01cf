package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/internal/observe"
	"github.com/troupe-go/troupe/session"
)

// Cell is one process's view of a value. It is safe for concurrent use.
type Cell[T any] struct {
	session *session.Session
	path    string
	codec   Codec[T]
	acl     []session.ACL

	// The value.
	now   atomic.Pointer[Snapshot[T]]
	data  []byte // the data of now; used by the actor alone
	topic *notify.Topic[Snapshot[T]]
	seen  notify.Latch // closes with the first read of the value
	// Its life: Close cancels it, then the actor ends, and sets end and ended.
	life     context.Context
	cancel   context.CancelFunc
	begin    sync.Once      // of the actor; or of the end, if the actor never began
	end      notify.End     // for Done and Err
	ended    notify.Latch   // closes behind end
	sweeping sync.WaitGroup // goroutines that delete markers
}

// Open is New, and waits until the state of the value has been read for the first time; it is no
// error if the value does not exist yet. ctx bounds that wait, not the cell. Errors are those of
// New, and ctx's cause.
func Open[T any](ctx context.Context, s *session.Session, path string, codec Codec[T], opts ...Option) (*Cell[T], error) {
	const op = "config.Open"
	c, err := start(op, s, path, codec, opts...)
	if err != nil {
		return nil, err
	}
	recipe.Start(s)
	select {
	case <-c.seen.C():
		return c, nil
	case <-c.ended.C():
		return nil, recipe.Failed(s, op, path, session.ErrClosed)
	case <-ctx.Done():
		c.cancel()
		return nil, recipe.Failed(s, op, path, context.Cause(ctx))
	}
}

// New follows the value at a path, and does not wait: until the first read, Load returns a state
// that is not present, and Stale. Errors name the invalid argument; for a closed session the error
// is session.ErrClosed.
func New[T any](s *session.Session, path string, codec Codec[T], opts ...Option) (*Cell[T], error) {
	return start("config.New", s, path, codec, opts...)
}

func start[T any](op string, s *session.Session, path string, codec Codec[T], opts ...Option) (*Cell[T], error) {
	if err := recipe.CheckNew(op, s, "path", path); err != nil {
		return nil, err
	}
	if v := reflect.ValueOf(codec); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, recipe.Failed(s, op, path, errors.New("codec: nil"))
	}
	var o options
	if err := recipe.Apply(&o, opts); err != nil {
		return nil, recipe.Failed(s, op, path, err)
	}
	watching, cancel := context.WithCancel(context.Background()) //nolint:gosec // the cell's life, which Close ends, and not that of the call
	c := &Cell[T]{
		session: s, path: path, codec: codec, acl: o.acl, topic: notify.NewTopic[Snapshot[T]](),
		life: watching, cancel: cancel,
	}
	recipe.AfterStart(s, func() {
		c.begin.Do(func() {
			observe.Run(watching, observe.Spec{Session: s, Kind: "config", Path: path, Begin: c.follow, Ended: c.onEnded})
		})
	})
	return c, nil
}

// follow publishes the states of the znode until the watch ends. An incarnation after the first,
// because the codec panicked, continues from the last state.
func (c *Cell[T]) follow(t *observe.Turn) {
	observe.Each(t.Context(), t, c.session.WatchData(t.Context(), c.path), func(d session.Data, open bool) {
		if !open {
			t.End()
			return
		}
		var now Snapshot[T]
		last := c.now.Load()
		if last != nil {
			now = *last
		}
		if next, changed := now.follow(d, c.data, c.codec); changed || last == nil {
			c.data = d.Bytes
			c.now.Store(&next)
			c.topic.Publish(next)
			c.seen.Close()
		}
	})
}

func (c *Cell[T]) onEnded(givenUp error) {
	cause := c.session.Err()
	switch {
	case givenUp != nil:
		cause = fmt.Errorf("%w: %w", session.ErrRestarted, givenUp)
	case cause == nil:
		cause = session.ErrClosed
	}
	c.end.Set(recipe.Failed(c.session, "config", c.path, cause))
	c.topic.Close() // when an observer's channel is closed, Err says why
	c.ended.Close()
}

// Load returns the newest state seen, without a request.
func (c *Cell[T]) Load() Snapshot[T] {
	if now := c.now.Load(); now != nil {
		return *now
	}
	return Snapshot[T]{Stale: true}
}

// Observe subscribes to the value: the current state first, then each newer one, which replaces one
// that was not received. The channel closes when ctx or the cell ends.
func (c *Cell[T]) Observe(ctx context.Context) <-chan Snapshot[T] { return c.topic.Subscribe(ctx) }

// Await waits until there is a valid value in ZooKeeper and returns it: for processes that start
// before their configuration is known. Errors: ctx's cause; those of Err.
func (c *Cell[T]) Await(ctx context.Context) (Snapshot[T], error) {
	for s := range c.Observe(ctx) {
		if s.Good() {
			return s, nil
		}
	}
	err := context.Cause(ctx)
	if err == nil {
		err = c.Err()
	}
	return Snapshot[T]{}, recipe.Failed(c.session, "await", c.path, err)
}

// Done closes when the cell has ended: by Close, or with its session. Err then says why.
func (c *Cell[T]) Done() <-chan struct{} { return c.end.Done() }

// Err is nil exactly while Done is open. Afterwards it is session.ErrClosed, or the cause for which
// the session ended; session.ErrRestarted if the cell's actor exceeded its restarts.
func (c *Cell[T]) Err() error { return c.end.Err() }

// Close ends the cell, and returns when nothing of it is left in this process; after a second, if
// the codec does not return. The value stays. Close is idempotent, and does not wait for
// ZooKeeper: ctx is not used.
func (c *Cell[T]) Close(ctx context.Context) error {
	c.cancel()
	c.begin.Do(func() { c.onEnded(nil) }) // if the session was not started
	select {
	case <-c.ended.C():
		c.sweeping.Wait()
	case <-time.After(time.Second):
	}
	return nil
}

// Option configures a Cell.
type Option func(*options) error

type options struct{ acl []session.ACL } // nil: the session's

// WithACL sets the ACL of the znodes that the cell creates, those above them included. Without it
// they get the session's. A znode that exists keeps its own.
func WithACL(acl ...session.ACL) Option {
	return func(o *options) error { return recipe.SetACL(&o.acl, acl) }
}

var (
	// ErrBadData: the data in ZooKeeper can't be decoded. [Cell.Update] then changes nothing, since
	// its function could not see what it replaces; write a valid value with session.Set.
	ErrBadData = errors.New("the data cannot be decoded")

	// ErrRecreated: while [Cell.Update] was writing, the znode was deleted and created again, and
	// happened to have the same version. The update was carried out, and replaced a value that its
	// function has not seen.
	ErrRecreated = errors.New("the znode was recreated during the update")
)

// Snapshot is the state of a value as seen at some moment. Receivers share Value and must not
// change what it refers to.
type Snapshot[T any] struct {
	Value   T     // the last valid value that this cell has seen; the zero value if there was none
	Present bool  // the znode exists
	Err     error // why Value is not the value in ZooKeeper: [ErrBadData], with the codec's reason; nil if it is, or if there is none
	Stale   bool  // the connection is down: this is the last known state

	// These describe the znode, whether its data are valid or not; 0 if it does not exist. Czxid
	// and Mzxid distinguish a value from every other one ever written, unless the ensemble loses
	// its data; the version restarts when the znode is deleted and created again.
	Czxid, Mzxid int64
	Version      int32
}

// Good tells whether Value is the value in ZooKeeper, or was when last seen.
func (s Snapshot[T]) Good() bool { return s.Present && s.Err == nil }

// follow is the state after a read, and whether it differs. was are the data of this state: if
// servers have lost theirs, the same numbers may come with other data.
func (s Snapshot[T]) follow(d session.Data, was []byte, c Codec[T]) (next Snapshot[T], changed bool) {
	next = s
	same := bytes.Equal(d.Bytes, was)
	next.Stale = d.Stale
	switch {
	case !d.Exists:
		next.Present, next.Err, next.Czxid, next.Mzxid, next.Version = false, nil, 0, 0, 0
	case s.Present && s.Czxid == d.Stat.Czxid && s.Mzxid == d.Stat.Mzxid && same:
	default:
		next.Present, next.Err = true, nil
		next.Czxid, next.Mzxid, next.Version = d.Stat.Czxid, d.Stat.Mzxid, d.Stat.Version
		if v, err := decode(c, d.Bytes); err != nil {
			next.Err = err
		} else {
			next.Value = v
		}
	}
	return next, next.Stale != s.Stale || next.Present != s.Present || next.Czxid != s.Czxid || next.Mzxid != s.Mzxid || !same
}
