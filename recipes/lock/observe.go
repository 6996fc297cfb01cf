package lock

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/enum"
	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/internal/contenders"
	"github.com/troupe-go/troupe/recipes/internal/observe"
	"github.com/troupe-go/troupe/session"
)

// Contender is one participant in the queue, of this process or of any other.
type Contender struct {
	Path      string           // of the znode
	Token     int64            // of its grant, once it holds: the zxid with which it queued; see Unread
	Data      []byte           // set by WithData, or by another library
	Revoked   bool             // it was asked to release, and may hold all the same: see [Lock.Revoke]
	Owner     session.Identity // whose it is, as it says itself, if it does; see Unread
	SessionID int64            // the ZooKeeper session that owns it; 0 for a znode that is not ephemeral; see Unread
	Since     time.Time        // when it queued, by the server's clock; see Unread
	Held      time.Time        // when it was granted, by the server's clock; zero if nothing tells: see below
	Holding   bool             // no contender ahead blocks it, nor a delay: it holds the lock, or is about to

	// Held is known where something is written at the grant: of a semaphore's holder, until it is
	// revoked, and of one with a delay. Others write nothing then, and their Since is when they
	// queued.

	// Delayed is the delay that a contender waits for which is first ([WithDelay]). It does not
	// hold meanwhile. The zero value: it waits for none.
	Delayed Delay

	// Unread: this session may not read the znode. Then there are no Data and Owner, and servers
	// since 3.8.4 do not report Token, SessionID and Since either: these are 0. For a contender of
	// a semaphore, Holding is then unknown. Observe's first is Unread too if its delay can't be
	// read.
	Unread bool
}

// Contenders lists the holder and the waiters, in order. It syncs first (session.Session.Sync), so
// it sees everything that was decided before the call, or up to some milliseconds before it if the
// session is connected to the leader. A path that does not exist has no contenders. In the layout
// [Simple] there is no queue: only the holder is listed. Errors: session.ErrNoAuth,
// session.ErrClosed, ctx's cause.
func (l *Lock) Contenders(ctx context.Context) ([]Contender, error) {
	if err := l.session.Sync(ctx, l.path); err != nil {
		return nil, failed(l.session, "contenders", l.path, err)
	}
	entries, err := l.list(ctx)
	if err != nil {
		return nil, failed(l.session, "contenders", l.path, err)
	}
	r, err := l.record(ctx)
	return contendersOf(entries, r), failed(l.session, "contenders", l.path, err)
}

// waiting counts the contenders that hold nothing.
func (l *Lock) waiting(ctx context.Context) (n int, err error) {
	if l.kind.of == znode.Lock {
		return contenders.Waiting(ctx, l.session, l.path)
	}
	entries, err := l.list(ctx)
	for _, c := range contendersOf(entries, contenders.Record{}) {
		if !c.Holding {
			n++
		}
	}
	return n, err
}

// View is the queue at some moment.
type View struct {
	Contenders []Contender // the holder and the waiters, in order
	Stale      bool        // the connection is down: this is the last known state
}

// Observe subscribes to the queue: the current view first, then each change; the newest replaces
// one that was not received. It follows contenders that join, leave or are granted, not changes of
// data. The first view comes once ZooKeeper has answered; without a connection it is Stale, and has
// what the session knows. The channel closes when ctx ends or the lock is done.
func (l *Lock) Observe(ctx context.Context) <-chan View {
	out := notify.NewLatest[View]()
	observe.Run(ctx, observe.Spec{
		Session: l.session, Kind: "lock view", Path: l.path, Ended: func(error) { out.Close() },
		Begin: func(t *observe.Turn) { l.observe(t, out) },
	})
	return out.C()
}

// observe starts one incarnation of the observation's actor.
func (l *Lock) observe(t *observe.Turn, out *notify.Latest[View]) {
	var entries []contenders.Entry
	stale := false // so is the listing
	holders, record := marks{session: l.session, turn: t}, contenders.Record{}
	reading, read := false, false // the record is watched, and its first state has come
	var last View
	holders.changed = func() {
		holders.follow(entries)
		v := View{contendersOf(holders.on(entries), record), stale || record.Stale}
		if !reflect.DeepEqual(v, last) { // both watches tell that the connection is down
			out.Publish(v)
		}
		last = v
	}
	observe.Each(t.Context(), t, l.Done(), func(struct{}, bool) { t.End() })
	observe.Each(t.Context(), t, l.views(t.Context()), func(v contenders.View, open bool) {
		if !open {
			t.End()
			return
		}
		entries, stale = v.Entries, v.Stale
		unread := slices.ContainsFunc(entries, func(e contenders.Entry) bool { return e.Unread }) // nor can the record be read
		switch {
		case !v.Delays || unread || read:
			holders.changed()
		case !reading:
			reading = true
			l.records(t, func(r contenders.Record) { record, read = r, true; holders.changed() })
		}
	})
}

func contendersOf(entries []contenders.Entry, r contenders.Record) []Contender {
	all := make([]Contender, len(entries))
	readers := true // all contenders so far are readers
	for i, e := range entries {
		readers = readers && e.Contender.Kind == znode.Read
		all[i] = Contender{
			Path: e.Path, Token: e.Token, Data: e.Data, Revoked: e.Revoked, Owner: e.Owner, SessionID: e.SessionID, Since: e.Since, Held: e.Granted, Unread: e.Unread,
			Holding: readers || e.Held || i == 0 && !e.Contender.Marks(),
		}
		switch {
		case e.Token == 0: // it may not be read
		case e.Token == r.Token: // the record says that it holds
			all[i].Held = r.At
		case i == 0 && r.Unread: // it may wait for a delay
			all[i].Unread, all[i].Holding = true, false
		case i == 0 && e.Token == r.Waits: // it waits for one
			all[i].Delayed, all[i].Holding = Delay{r.Token, session.Identity(r.By), r.Until()}, false
		}
	}
	return all
}

// Delay is left by a holder that dies or loses a lock with a delay ([WithDelay]): the next
// contender waits before it holds.
type Delay struct {
	Token int64            // of the grant of that holder; 0: there is no delay
	Owner session.Identity // whose it was, as it said itself, if it did
	Until time.Time        // the end of the wait, by the server's clock; zero while no contender waits: then it has not begun
}

// Delay reads whether the lock has lost its holder, so that the first contender waits for a delay,
// or the next one to come will. It syncs first, as [Lock.Contenders] does. While the lock is held
// there is no delay. Errors: session.ErrNoAuth, session.ErrClosed, ctx's cause.
func (l *Lock) Delay(ctx context.Context) (d Delay, err error) {
	all, err := l.Contenders(ctx)
	r, failure := l.record(ctx)
	switch {
	case err != nil:
		return d, err
	case failure != nil:
		return d, failed(l.session, "delay", l.path, failure)
	case len(all) == 0:
		return Delay{Token: r.Token, Owner: session.Identity(r.By)}, nil // the contender that began to wait has gone
	}
	return all[0].Delayed, nil
}

// record reads the record beside the contenders. Only exclusive locks have one.
func (l *Lock) record(ctx context.Context) (r contenders.Record, err error) {
	if l.kind.of == znode.Lock && !l.simple() {
		r, err = contenders.ReadRecord(ctx, l.session, l.path)
	}
	return r, err
}

// records calls f with the record, at first and after each change. The watch reports no record that
// the session may not read, so a read beside it finds that out.
func (l *Lock) records(t *observe.Turn, f func(contenders.Record)) {
	observe.Each(t.Context(), t, l.session.WatchData(t.Context(), znode.Join(l.path, znode.HeldRecord)), func(d session.Data, _ bool) {
		f(contenders.Record{Record: znode.ParseRecord(d.Bytes), At: d.Stat.Mtime, Stale: d.Stale})
	})
	observe.Ask(t.Context(), t, func(ctx context.Context) error { _, err := l.record(ctx); return err }, func(err error) {
		if errors.Is(err, session.ErrNoAuth) {
			f(contenders.Record{Unread: true})
		}
	})
}

// list reads the holder and the waiters. For a simple lock only the holder is visible.
func (l *Lock) list(ctx context.Context) ([]contenders.Entry, error) {
	if !l.simple() {
		return contenders.Read(ctx, l.session, l.path)
	}
	var s session.Data
	var err error
	if s.Bytes, s.Stat, err = l.session.Get(ctx, l.path); err == nil {
		s.Exists = true
	} else if !errors.Is(err, session.ErrNoNode) {
		return nil, err
	}
	return l.holder(s), nil
}

// views subscribes to the result of list. The channel closes when ctx or the session ends.
func (l *Lock) views(ctx context.Context) <-chan contenders.View {
	if !l.simple() {
		return contenders.Observe(ctx, l.session, l.path)
	}
	out := notify.NewLatest[contenders.View]()
	type of struct { // the session too: servers that have lost their data give the same zxids again
		czxid, session int64
		stale          bool
	}
	last := of{czxid: -1} // over all incarnations of the actor
	observe.Run(ctx, observe.Spec{Session: l.session, Kind: "line view", Path: l.path, Ended: func(error) { out.Close() }, Begin: func(t *observe.Turn) {
		observe.Each(t.Context(), t, l.session.WatchData(t.Context(), l.path), func(s session.Data, open bool) {
			now := of{s.Stat.Czxid, s.Stat.EphemeralOwner, s.Stale} // 0 if it does not exist
			switch {
			case !open:
				t.End()
				return
			case last == now:
				return // a change of data
			}
			last = now
			out.Publish(contenders.View{Entries: l.holder(s), Stale: s.Stale})
		})
	}})
	return out.C()
}

// holder is the queue of a simple lock: its only contender holds.
func (l *Lock) holder(s session.Data) []contenders.Entry {
	if !s.Exists {
		return nil
	}
	return []contenders.Entry{{
		Path: l.path, Contender: znode.Contender{Kind: znode.Lock},
		Token: s.Stat.Czxid, Data: s.Bytes, SessionID: s.Stat.EphemeralOwner, Since: s.Stat.Ctime,
	}}
}

// State is the state of an instance.
type State int

// The states of an instance.
const (
	Idle    State = iota // no intent and no caller
	Waiting              // in the queue, or about to be
	Holding              // granted to the standing intent or to a caller
	Stopped              // ended by Close or with the session
	Failed               // ended by an error: see [Lock.Err]
)

// String returns the state's name.
func (s State) String() string {
	return enum.Name("State", s, "idle", "waiting", "holding", "stopped", "failed")
}

// Status is an instance's own position in the queue.
type Status struct {
	State State
	Ahead int  // contenders that it waits for, at the last listing; not every release is followed, so there may be fewer
	Stale bool // the connection is down or the session is not trusted: this is the last known state
}

// ObserveStatus subscribes to this instance's position: the current one first, then each change;
// the newest replaces one that was not received. The channel closes when ctx ends (cancel it when
// you leave the loop), or after Stopped or Failed.
func (l *Lock) ObserveStatus(ctx context.Context) <-chan Status { return l.status.Subscribe(ctx) }

func statusOf(m machine.Standing) Status {
	s := Status{Ahead: m.Ahead, Stale: m.Stale}
	switch m.Phase {
	case machine.Idle:
	case machine.Holding:
		s.State = Holding
	default:
		s.State = Waiting
	}
	return s
}
