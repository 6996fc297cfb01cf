// A znode, or an epoch, is told as gone when ZooKeeper has said so, and not before.

package session_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// parted is a process that is cut off while it holds something and removes something else.
type parted struct {
	*world
	s       *session.Session
	id      int64
	held    *session.Hold
	heal    func()
	refuse  atomic.Bool // credentials
	enforce atomic.Bool // without one, no session is closed either

	doomed  string
	removed chan error // capacity 1
	stood   bool       // the znode stood when the removal was answered; set before

	ended       []session.EpochEnded // told, and
	stoodAtEnds []bool               // whether the held znode stood then
}

// part cuts a process off while it holds something and removes something else.
func (w *world) part() *parted {
	w.Helper()
	from := w.srv.Host("this")
	p := &parted{world: w, removed: make(chan error, 1)}
	w.meets(zktest.Fail(-115), func(r *zktest.Request) bool {
		return r.Op == zktest.OpSetAuth && p.refuse.Load() || r.Op == zktest.OpCloseSession && p.enforce.Load()
	})
	p.s = w.open(session.WithTimeout(timeout), session.WithDialer(from.Dialer()), session.WithAuth("digest", []byte("a:b")))
	p.id = id(p.s)
	t := w.client(p.s)
	_, err := p.s.Client("witness", func(n session.Event) {
		if n, ok := n.(session.EpochEnded); ok {
			p.ended = append(p.ended, n)
			p.stoodAtEnds = append(p.stoodAtEnds, w.stands(p.held.Path()))
		}
	})
	require.NoError(w, err)
	p.held = t.hold(w, 1, "/held")
	p.doomed = t.join(w, 1, session.Join{Parent: "/doomed", Name: "lock-"}).Path
	steady(w, p.s)
	p.heal = from.Partition()
	t.Remove(1, p.doomed, func(err error) {
		p.stood = w.stands(p.doomed)
		p.removed <- err
	})
	synctest.Wait()
	return p
}

// pending: nothing is known, and nothing is told.
func (p *parted) pending() {
	p.Helper()
	synctest.Wait()
	require.Empty(p, p.removed)
	require.Empty(p, p.ended)
	require.True(p, p.stands(p.doomed) && p.stands(p.held.Path()))
}

// What an epoch, or the session, ends with, and what is told of it: that a znode is gone only when
// ZooKeeper has said so, of the znode or of its session.
func TestWhatConfirmsTheEndOfAZnode(t *testing.T) {
	type row struct {
		befall  func(p *parted)
		removed error // nil: confirmed
		gone    []bool
		held    error // how the hold ends
	}
	each(t, map[string]row{
		"not at all": {func(p *parted) {
			time.Sleep(time.Second)
			p.heal()
		}, nil, nil, nil},
		"expired": {func(p *parted) {
			p.srv.Expire(p.id)
			synctest.Wait()
			require.Empty(p, p.removed, "nobody has said so yet")
			p.heal()
		}, nil, []bool{true}, session.ErrExpired},
		"replaced": {func(p *parted) {
			p.srv.ExpireSilently(p.id)
			p.heal()
		}, nil, []bool{true}, session.ErrExpired},
		"restarted": {func(p *parted) {
			session.PanicSession(p.s, "on purpose")
			time.Sleep(time.Second)
			p.pending()
			p.heal()
		}, nil, []bool{true}, session.ErrRestarted},
		"restarted, and expired at last": {func(p *parted) {
			session.PanicSession(p.s, "on purpose")
			for p.stands(p.doomed) {
				p.pending()
				time.Sleep(time.Second)
			}
			time.Sleep(timeout)
			synctest.Wait()
			require.Empty(p, p.removed, "nobody has said so yet")
			require.Empty(p, p.ended)
			p.heal()
		}, nil, []bool{true}, session.ErrRestarted},
		"expired, and restarted at that": {func(p *parted) {
			unblock := session.BlockActor(p.s)
			session.PanicSession(p.s, "on purpose") // before word of the expiry
			p.srv.Expire(p.id)
			p.heal()
			time.Sleep(timeout)
			unblock()
			time.Sleep(time.Second) // the pause before the restart
		}, nil, []bool{true}, session.ErrExpired},
		"restarted, and closed in vain": {func(p *parted) {
			session.PanicSession(p.s, "on purpose")
			time.Sleep(time.Second)
			p.pending()
			p.closeInVain()
		}, session.ErrClosed, []bool{false}, session.ErrRestarted},
		"restarted, and closed": {func(p *parted) {
			session.PanicSession(p.s, "on purpose")
			time.Sleep(time.Second)
			p.pending()
			closed := bubble.Begin(func() error { return p.s.Close(p.ctx) })
			time.Sleep(2 * time.Second) // a sixth of the timeout after the crash the connection is given up, and the answer to the removal with it
			require.Empty(p, closed)
			p.heal()
			require.NoError(p, <-closed)
			require.False(p, p.stands(p.doomed) || p.stands(p.held.Path()), "Close has confirmed it")
		}, session.ErrClosed, []bool{false}, session.ErrRestarted},
		"restarted, and closed, and the removal answered": {func(p *parted) {
			session.PanicSession(p.s, "on purpose")
			time.Sleep(time.Second)
			p.pending()
			closed := bubble.Begin(func() error { return p.s.Close(p.ctx) })
			time.Sleep(time.Second / 2) // the connection has not been given up
			p.heal()
			require.NoError(p, <-closed)
		}, nil, []bool{false}, session.ErrRestarted},
		"closed in vain": {(*parted).closeInVain, session.ErrClosed, []bool{false}, session.ErrClosed},
		"a credential was refused": {func(p *parted) {
			time.Sleep(timeout * 3 / 4) // the connection is given up after two thirds, and trust has ended
			p.refuse.Store(true)
			p.heal()
			<-p.s.Done()
			require.ErrorIs(p, p.s.Err(), session.ErrAuthFailed)
			require.True(p, p.stands(p.held.Path()))
		}, session.ErrClosed, []bool{false}, session.ErrUntrusted},
		"a credential was refused, and restarted at that": {func(p *parted) {
			time.Sleep(timeout / 4)
			unblock := session.BlockActor(p.s)
			session.PanicSession(p.s, "on purpose")
			time.Sleep(timeout / 2)
			p.refuse.Store(true)
			p.enforce.Store(true)
			p.heal()
			time.Sleep(time.Second)
			unblock()
			<-p.s.Done()
			require.ErrorIs(p, p.s.Err(), session.ErrAuthFailed)
		}, session.ErrClosed, []bool{false}, session.ErrUntrusted},
		"given up": {func(p *parted) {
			for p.s.Err() == nil {
				session.PanicSession(p.s, "on purpose")
				time.Sleep(3 * time.Second)
			}
			require.ErrorIs(p, p.s.Err(), actors.ErrGivenUp)
		}, session.ErrClosed, []bool{false}, session.ErrRestarted},
	}, func(w *world, row row) {
		p := w.part()
		row.befall(p)
		err := <-p.removed
		require.ErrorIs(p, err, row.removed)
		if row.removed == nil {
			require.NoError(p, err)
			require.False(p, p.stood, "reported as gone, and it stood")
		}
		synctest.Wait()
		var gone []bool
		for i, n := range p.ended {
			require.EqualValues(p, 1, n.Epoch)
			require.False(p, n.Gone && p.stoodAtEnds[i], "told as gone, and it stood")
			gone = append(gone, n.Gone)
		}
		require.Equal(p, row.gone, gone)
		if row.held == nil {
			require.NoError(p, p.held.Err())
			return
		}
		require.ErrorIs(p, p.held.Err(), session.ErrLost)
		require.ErrorIs(p, p.held.Err(), row.held)
	}, shortTicks...)
}

// closeInVain closes the session, which says that its end could not be confirmed.
func (p *parted) closeInVain() {
	ctx, cancel := context.WithTimeout(p.ctx, time.Second)
	defer cancel()
	require.ErrorIs(p, p.s.Close(ctx), context.DeadlineExceeded)
	require.True(p, p.stands(p.doomed) && p.stands(p.held.Path()), "they are left to expire")
}

// What was sent in an epoch that a failure ended may be under way until its ZooKeeper session is
// over. Until then nothing begins, and no outcome is reported as settled: a read would not tell.
func TestAnOutcomeIsSettledWhenTheEpochBeforeIsGone(t *testing.T) {
	inBubble(t, func(w *world) {
		from := w.srv.Host("this")
		s := w.open(session.WithTimeout(timeout), session.WithDialer(from.Dialer()))
		other := w.open()
		heal := w.srv.Partition(id(s)) // new sessions would be possible
		written := bubble.Begin(func() error { return errOf(s.Create(w.ctx, "/a", nil)) })
		synctest.Wait()
		session.PanicSession(s, "on purpose")
		time.Sleep(time.Second)
		synctest.Wait()
		require.EqualValues(w, 1, s.Status().Epoch)
		require.Equal(w, session.Lost, s.Status().State)
		require.Empty(w, written)
		heal() // and the create arrives
		err := <-written
		_, before, look := other.Exists(w.ctx, "/a")
		require.NoError(w, look)
		require.Equal(w, before, err == nil, "%v", err)
		time.Sleep(time.Minute)
		_, after, look := other.Exists(w.ctx, "/a")
		require.NoError(w, look)
		require.Equal(w, before, after, "nothing comes behind the answer's back")
	}, shortTicks...)
}
