// Package gozk has go-zookeeper's calls on a Troupe session: the signatures, types and error values
// of *zk.Conn, so that err == zk.ErrNoNode and a switch over errors keep working. Recipes are made
// on the session, beside it. What differs is in docs/gozk.md; above all, a write whose answer was
// lost is [session.ErrUnknownOutcome], which is no error of go-zookeeper's.
package gozk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
)

// Conn is what a *zk.Conn and a view have in common: see [On]. The comments are about the view.
type Conn interface {
	AddAuth(scheme string, auth []byte) error // refused: make the session with [session.WithAuth]
	Children(path string) ([]string, *zk.Stat, error)
	ChildrenW(path string) ([]string, *zk.Stat, <-chan zk.Event, error)
	Close() // ends the view, not the session, nor its ephemeral znodes
	Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error)
	CreateContainer(path string, data []byte, flags int32, acl []zk.ACL) (string, error)
	CreateProtectedEphemeralSequential(path string, data []byte, acl []zk.ACL) (string, error)
	CreateTTL(path string, data []byte, flags int32, acl []zk.ACL, ttl time.Duration) (string, error)
	Delete(path string, version int32) error
	Exists(path string) (bool, *zk.Stat, error)
	ExistsW(path string) (bool, *zk.Stat, <-chan zk.Event, error)
	Get(path string) ([]byte, *zk.Stat, error)
	GetACL(path string) ([]zk.ACL, *zk.Stat, error)
	GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error)
	Multi(ops ...any) ([]zk.MultiResponse, error) // its creates are persistent, ephemeral or sequential
	Server() string
	SessionID() int64
	Set(path string, data []byte, version int32) (*zk.Stat, error)
	SetACL(path string, acl []zk.ACL, version int32) (*zk.Stat, error)
	State() zk.State
	Sync(path string) (string, error)
}

var _, _ Conn = (*zk.Conn)(nil), (*view)(nil)

// On makes a view of a session, which begins to connect. The view lasts until it is closed, or the
// session is. Beside it are the session events that zk.Connect returns, until the view ends. Their
// channel keeps sixteen; the oldest give way to newer ones, so the last state is never lost.
func On(sess *session.Session) (Conn, <-chan zk.Event) {
	v := &view{sess: sess, events: notify.NewFinite[zk.Event](16)}
	v.life, v.end = context.WithCancelCause(context.Background())
	v.tell("", zk.StateConnecting)
	if client, err := seam.NewClient(sess, "gozk", v.on, nil); err != nil {
		v.on(seam.SessionEnded{Cause: err})
	} else {
		context.AfterFunc(v.life, client.Leave)
	}
	seam.Start.(func(*session.Session))(sess)
	return v, v.events.C()
}

type view struct {
	sess   *session.Session
	life   context.Context // of the view; its cause is what calls return afterwards
	end    context.CancelCauseFunc
	mu     sync.Mutex // of those that send events
	events *notify.Finite[zk.Event]
	last   atomic.Pointer[zk.Event]
}

func (v *view) State() zk.State  { return v.last.Load().State }
func (v *view) Server() string   { return v.last.Load().Server }
func (v *view) SessionID() int64 { return v.sess.Status().SessionID }
func (v *view) Close()           { v.on(seam.SessionEnded{Cause: zk.ErrConnectionClosed}) }
func (*view) AddAuth(string, []byte) error {
	return fmt.Errorf("AddAuth: %w: make the session with session.WithAuth", session.ErrUnsupported)
}

// on takes the session's events.
func (v *view) on(event seam.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.life.Err() != nil {
		return
	}
	switch e := event.(type) {
	case machine.EpochBegan, machine.Resumed:
		v.tell(cmp.Or(v.sess.Status().Address, v.Server()), zk.StateConnected, zk.StateHasSession)
	case machine.Suspended:
		v.tell(v.Server(), zk.StateDisconnected, zk.StateConnecting)
	case seam.EpochEnded:
		if e.Gone { // else the session ends, and says so next
			v.tell(v.Server(), zk.StateExpired, zk.StateDisconnected, zk.StateConnecting)
		}
	case seam.SessionEnded:
		v.tell(v.Server(), zk.StateDisconnected)
		v.events.Close()
		v.end(value(e.Cause))
	}
}

// tell sends session events, unless the view is over.
func (v *view) tell(server string, states ...zk.State) {
	for _, state := range states {
		e := zk.Event{Type: zk.EventSession, State: state, Server: server}
		v.last.Store(&e)
		for !v.events.Send(e) { // there is no room
			select {
			case <-v.events.C():
			default: // received meanwhile
			}
		}
	}
}

func (v *view) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	return watch(v, path, zk.EventNodeDataChanged, func(c seam.Client, epoch uint64, done func([]byte, seam.Stat, error)) {
		c.Read(epoch, path, true, func(s seam.Seen) {
			if s.Err == nil && !s.Exists {
				s.Err = zk.ErrNoNode
			}
			done(s.Data, s.Stat, s.Err)
		})
	})
}

func (v *view) ExistsW(path string) (bool, *zk.Stat, <-chan zk.Event, error) {
	return watch(v, path, zk.EventNodeDataChanged, func(c seam.Client, epoch uint64, done func(bool, seam.Stat, error)) {
		c.Await(epoch, path, func(s seam.Seen) { done(s.Exists, s.Stat, s.Err) })
	})
}

func (v *view) ChildrenW(path string) ([]string, *zk.Stat, <-chan zk.Event, error) {
	return watch(v, path, zk.EventNodeChildrenChanged, func(c seam.Client, epoch uint64, done func([]string, seam.Stat, error)) {
		c.List(epoch, path, true, func(l seam.Listed) { done(l.Names, l.Stat, l.Err) })
	})
}

// watch reads a znode and awaits one event. A watch is a client of the session of its own: that is
// told EpochBegan first, and Fired after the answer.
func watch[T any](v *view, path string, awaited zk.EventType, read func(c seam.Client, epoch uint64, done func(T, seam.Stat, error))) (got T, st *zk.Stat, _ <-chan zk.Event, err error) {
	var began, over sync.Once
	epochs, answers, events := make(chan uint64, 1), make(chan func() (session.Stat, error), 1), notify.NewFinite[zk.Event](1)
	life, end := context.WithCancel(v.life)
	tell := func(t zk.EventType, s zk.State, err error) {
		over.Do(func() { events.Send(zk.Event{Type: t, State: s, Path: path, Err: err}); events.Close(); end() })
	}
	st, err = v.do(path, func() (s session.Stat, err error) {
		client, err := seam.NewClient(v.sess, "gozk", func(event seam.Event) {
			switch e := event.(type) {
			case machine.EpochBegan:
				began.Do(func() { epochs <- e.Epoch })
			case machine.Fired:
				if e.Change == machine.Deleted && awaited != zk.EventNodeCreated { // else it has come and gone
					awaited = zk.EventNodeDeleted
				}
				tell(awaited, zk.StateSyncConnected, nil)
			case seam.EpochEnded:
				if e.Gone { // else the session ends, and the view with it
					tell(zk.EventNotWatching, zk.StateDisconnected, value(e.Cause))
				}
			}
		}, nil)
		if err != nil {
			return s, err
		}
		context.AfterFunc(life, func() {
			tell(zk.EventNotWatching, zk.StateDisconnected, zk.ErrClosing)
			client.Leave()
		})
		for {
			select {
			case epoch := <-epochs:
				read(client, epoch, func(value T, stat seam.Stat, err error) {
					if any(value) == false { // ExistsW, of a znode that is missing
						awaited = zk.EventNodeCreated
					}
					answers <- func() (session.Stat, error) { got = value; return session.Stat(stat), err }
				})
			case answer := <-answers:
				return answer()
			case <-v.life.Done():
				return s, context.Cause(v.life)
			}
		}
	})
	if err != nil {
		end()
		return got, nil, nil, err
	}
	return got, st, events.C(), nil
}

// do makes a call once there is a connection. It waits for that about as long as go-zookeeper does.
func (v *view) do(path string, call func() (session.Stat, error)) (*zk.Stat, error) {
	if znode.Validate(path) != nil {
		return nil, zk.ErrInvalidPath
	}
	ctx, cancel := context.WithTimeoutCause(v.life, 1500*time.Millisecond, zk.ErrNoServer)
	defer cancel()
	if err := v.sess.Connect(ctx); err != nil {
		return nil, value(err)
	}
	s, err := call()
	return stat(s), value(err)
}

func stat(s session.Stat) *zk.Stat {
	return &zk.Stat{
		Czxid: s.Czxid, Mzxid: s.Mzxid, Ctime: max(0, s.Ctime.UnixMilli()), Mtime: max(0, s.Mtime.UnixMilli()), Version: s.Version, Cversion: s.Cversion,
		Aversion: s.Aversion, EphemeralOwner: s.EphemeralOwner, DataLength: s.DataLength, NumChildren: s.NumChildren, Pzxid: s.Pzxid,
	}
}

func (v *view) Get(p string) ([]byte, *zk.Stat, error)        { return ask(v, p, v.sess.Get) }
func (v *view) Children(p string) ([]string, *zk.Stat, error) { return ask(v, p, v.sess.Children) }
func (v *view) GetACL(p string) ([]zk.ACL, *zk.Stat, error)   { return ask(v, p, v.sess.ACL) }

func ask[T any](v *view, path string, call func(context.Context, string) (T, session.Stat, error)) (got T, st *zk.Stat, err error) {
	st, err = v.do(path, func() (s session.Stat, err error) { got, s, err = call(v.life, path); return s, err })
	return got, st, err
}

func (v *view) Exists(path string) (exists bool, st *zk.Stat, err error) {
	st, err = v.do(path, func() (s session.Stat, err error) { s, exists, err = v.sess.Exists(v.life, path); return s, err })
	return exists, st, err
}

func (v *view) Sync(path string) (string, error) {
	_, err := v.do(path, func() (s session.Stat, err error) { return s, v.sess.Sync(v.life, path) })
	return path, err
}

func (v *view) Set(path string, data []byte, version int32) (*zk.Stat, error) {
	return v.do(path, func() (session.Stat, error) { return v.sess.Set(v.life, path, data, version) })
}

func (v *view) SetACL(path string, acl []zk.ACL, version int32) (*zk.Stat, error) {
	return v.do(path, func() (session.Stat, error) { return v.sess.SetACL(v.life, path, acl, version) })
}

func (v *view) Delete(path string, version int32) error {
	_, err := v.do(path, func() (s session.Stat, err error) { return s, v.sess.Delete(v.life, path, version) })
	return err
}

func (v *view) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	return v.create(path, data, flags, flags < zk.FlagTTL, acl)
}

func (v *view) CreateContainer(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	return v.create(path, data, flags, flags == zk.FlagContainer, acl)
}

func (v *view) CreateTTL(path string, data []byte, flags int32, acl []zk.ACL, ttl time.Duration) (string, error) {
	return v.create(path, data, flags, flags >= zk.FlagTTL, acl, session.TTL(ttl))
}

func (v *view) CreateProtectedEphemeralSequential(path string, data []byte, acl []zk.ACL) (string, error) {
	return v.create(path, data, zk.FlagEphemeralSequential, true, acl, session.Protected())
}

func (v *view) create(path string, data []byte, flags int32, fits bool, acl []zk.ACL, more ...session.CreateOption) (made string, err error) {
	if flags < 0 || int(flags) >= len(modes) || !fits {
		return "", fmt.Errorf("invalid flag value: [%v]: %w", flags, zk.ErrInvalidFlags)
	}
	_, err = v.do(path, func() (s session.Stat, err error) {
		made, err = v.sess.Create(v.life, path, data, slices.Concat(modes[flags], more, []session.CreateOption{session.WithNodeACL(acl...)})...)
		return s, err
	})
	return made, err
}

// modes are the kinds of znodes by their flags; a TTL is an option of its own.
var modes = [][]session.CreateOption{
	zk.FlagPersistent: nil, zk.FlagEphemeral: {session.Ephemeral()}, zk.FlagSequence: {session.Sequential()},
	zk.FlagEphemeralSequential: {session.Ephemeral(), session.Sequential()}, zk.FlagContainer: {session.Container()},
	zk.FlagTTL: nil, zk.FlagPersistentSequentialWithTTL: {session.Sequential()},
}

func (v *view) Multi(ops ...any) (responses []zk.MultiResponse, err error) {
	all := make([]session.Op, len(ops))
	for i, op := range ops {
		switch op := op.(type) {
		case *zk.CreateRequest:
			if op.Flags < 0 || op.Flags >= zk.FlagContainer {
				return nil, fmt.Errorf("invalid flag value: [%v]: %w", op.Flags, zk.ErrInvalidFlags)
			}
			all[i] = session.CreateOp(op.Path, op.Data, append(slices.Clone(modes[op.Flags]), session.WithNodeACL(op.Acl...))...)
		case *zk.SetDataRequest:
			all[i] = session.SetOp(op.Path, op.Data, op.Version)
		case *zk.DeleteRequest:
			all[i] = session.DeleteOp(op.Path, op.Version)
		case *zk.CheckVersionRequest:
			all[i] = session.CheckOp(op.Path, op.Version)
		default:
			return nil, fmt.Errorf("unknown operation type %T", op)
		}
	}
	_, err = v.do("/", func() (s session.Stat, err error) {
		if len(all) == 0 {
			return s, nil
		}
		results, err := v.sess.Multi(v.life, all...)
		for _, r := range results {
			responses = append(responses, zk.MultiResponse{Stat: stat(r.Stat), String: r.Path, Error: value(r.Err)})
		}
		return s, err
	})
	return responses, err
}

// values are the errors that a caller gets bare, so that == finds them; the first that applies.
var values = []error{
	session.ErrUnknownOutcome, zk.ErrConnectionClosed, zk.ErrNoServer, zk.ErrAuthFailed, zk.ErrNoNode, zk.ErrNodeExists, zk.ErrBadVersion, zk.ErrNotEmpty, zk.ErrNoChildrenForEphemerals,
	zk.ErrNoAuth, zk.ErrInvalidACL, zk.ErrInvalidPath, zk.ErrSessionExpired,
}

// value is an error as go-zookeeper has it; one that it has not stays as it is.
func value(err error) error {
	if i := slices.IndexFunc(values, func(v error) bool { return errors.Is(err, v) }); i >= 0 {
		return values[i]
	} else if errors.Is(err, session.ErrClosed) || errors.Is(err, session.ErrSuspended) {
		return zk.ErrConnectionClosed
	}
	return err
}
