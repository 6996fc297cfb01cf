// A deposed leader says that a session has expired, which the others keep: the end of the epoch is
// confirmed by a quorum first. Helpers: misled below, helper_test.go.

package session_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// A leader that stood still for long, and was deposed, tells a client that its session has expired,
// though the others keep that with every znode. The epoch is over then, but it is not told as gone,
// nothing that was to be deleted counts as deleted, and the next epoch does not begin, before the
// znodes are.
func TestAnExpiryIsNotToldBeforeAQuorumConfirmsIt(t *testing.T) {
	each(t, map[string]time.Duration{"and the session goes on": -1, "and is closed": 0, "and is closed later": timeout}, (*harness).expiredByADeposedLeader, deposable...)
}

func (w *harness) expiredByADeposedLeader(closing time.Duration) {
	f := w.atALeader()
	h := f.client.hold(w, 1, "/queue")
	f.client.told()
	f.depose()
	bubble.Within(w, timeout/2, h.Done(), "the server has learnt too soon that it is deposed, and said nothing")
	require.ErrorIs(w, h.Err(), session.ErrLost)
	f.reachable.Store(1)
	removed := make(chan error, 1)
	f.client.Remove(1, h.Path(), func(err error) { removed <- err })
	if closing >= 0 {
		time.Sleep(closing)
		require.False(w, f.gone())
		err := f.s.Close(w.ctx)
		require.Equal(w, f.gone(), err == nil, "Close waits for it, and says so if its time is up: %v", err)
		require.Equal(w, closing > 0, f.gone())
		require.Error(w, <-removed, "no server has said so")
		return
	}
	f.goneBeforeTheNext(2, func() {
		select {
		case err := <-removed:
			require.NoError(w, err)
			require.True(w, f.gone(), "it was said to be deleted")
		default:
		}
	})
}

// misled is a session that a leader is going to tell that it has expired, though the others keep
// it.
type misled struct {
	*harness
	s         *session.Session
	client    *client
	id        int64
	reachable atomic.Int64 // the only server that it can reach; -1: none
}

// deposable are servers with ticks so long that a deposed one believes for a while that it leads.
var deposable = []zktest.Option{zktest.WithServers(3), zktest.WithTick(5 * time.Second), zktest.WithSeed(1)}

func (w *harness) atALeader(opts ...session.Option) *misled {
	f := &misled{harness: w}
	f.s = w.session(append(opts, session.WithTimeout(timeout), session.WithDialer(f.dial))...)
	require.NoError(w, f.s.Connect(w.ctx))
	f.client, f.id = w.client(f.s), id(f.s)
	return f
}

func (f *misled) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if i := f.reachable.Load(); i < 0 || addr != f.srv.Hosts()[i] {
		return nil, errors.New("out of reach")
	}
	return f.srv.Dialer()(ctx, network, addr)
}

// depose has the leader, which is deposed, tell the session that it has expired.
func (f *misled) depose() {
	f.srv.Depose(0)
	f.srv.ExpireAlone(0, f.id)
	f.srv.Continue(0)
	f.srv.Disconnect(f.id)
}

func (f *misled) gone() bool { return len(f.ephemerals(f.id)) == 0 }

// goneBeforeTheNext waits for the next epoch, and for what the client is told of it: not before the
// znodes of the first are gone.
func (f *misled) goneBeforeTheNext(next int, meanwhile func()) {
	f.Helper()
	for range 4 * timeout / (10 * time.Millisecond) {
		synctest.Wait()
		meanwhile()
		if told := f.client.told(); len(told) > 0 && told[len(told)-1] != "disconnected" {
			require.True(f, f.gone(), "%v", told)
			require.Contains(f, told[len(told)-1], fmt.Sprint("began ", next))
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	require.Fail(f, "no next epoch")
}

// Close waits no longer for the confirmation than it would for a connection, also where a server
// does not answer.
func TestCloseWaitsInTimeForTheConfirmationOfAnExpiry(t *testing.T) {
	inBubble(t, func(w *harness) {
		f := w.atALeader()
		f.client.hold(w, 1, "/queue")
		f.depose()
		time.Sleep(timeout)
		w.meets(zktest.DropReply, func(r *zktest.Request) bool { return r.Op == zktest.OpMulti })
		f.reachable.Store(1)
		time.Sleep(time.Second)
		begun := time.Now()
		require.ErrorIs(w, f.s.Close(w.ctx), session.ErrSuspended)
		require.LessOrEqual(w, time.Since(begun), timeout/3)
	}, deposable...)
}

// Another client may delete one of its znodes meanwhile: that is not the end of the session.
func TestAnExpiryIsConfirmedBySeveralZnodes(t *testing.T) {
	each(t, map[string]int{"the first": 0, "the second": 1, "the third": 2}, func(w *harness, deleted int) {
		f := w.atALeader()
		var held []*session.Hold
		for i := range 3 {
			held = append(held, w.client(f.s).hold(w, 1, fmt.Sprint("/queue-", i)))
		}
		f.client.told()
		f.depose()
		<-held[deleted].Done()
		require.NoError(w, w.srv.Znodes(w).Delete(held[deleted].Path()))
		f.reachable.Store(1)
		f.goneBeforeTheNext(2, func() {})
	}, deposable...)
}

// Each client of the session is told that the connection is down, also if the session's actor fails
// before it has heard of the expiry, or while that is not confirmed.
func TestAnExpiryIsConfirmedThoughTheActorFails(t *testing.T) {
	type row struct {
		next int
		fail func(f *misled)
	}
	each(t, map[string]row{
		"at that": {2, func(f *misled) {
			unblock := session.BlockActor(f.s)
			session.PanicSession(f.s, "on purpose") // before word of the expiry
			f.depose()
			time.Sleep(time.Second)
			unblock()
		}},
		"later": {3, func(f *misled) { // and the second ends before it has begun
			f.depose()
			time.Sleep(time.Second)
			session.PanicSession(f.s, "on purpose")
		}},
	}, func(w *harness, row row) {
		f := w.atALeader()
		f.client.hold(w, 1, "/queue")
		f.client.told()
		row.fail(f)
		time.Sleep(time.Second)
		f.reachable.Store(1)
		time.Sleep(time.Second)
		require.False(w, f.gone())
		require.Contains(w, f.client.told(), "disconnected")
		f.goneBeforeTheNext(row.next, func() {})
	}, deposable...)
}

// However often the connection is lost while the end of an epoch is not confirmed, one question at
// a time is asked about it.
func TestOneQuestionAtATimeIsAskedAboutAnExpiry(t *testing.T) {
	inBubble(t, func(w *harness) {
		f := w.atALeader()
		f.client.hold(w, 1, "/queue")
		f.depose()
		time.Sleep(time.Second)
		f.reachable.Store(1)
		for range 30 {
			time.Sleep(100 * time.Millisecond)
			w.srv.Disconnect(id(f.s))
		}
		time.Sleep(3 * time.Second) // for those that had been put off
		w.srv.ClearJournal()
		asked := time.Now()
		f.goneBeforeTheNext(2, func() {})
		checks := w.transactions()
		w.Logf("%d in %v", checks, time.Since(asked))
		require.Less(w, checks, 30)
	}, deposable...)
}

// What was under way when the session was said to have expired may have been carried out: the
// creation of a znode, also in the place of another, and a transaction. Where nothing else stands,
// the time of the session has to pass.
func TestWhatWasUnderWayAtAnExpiryIsLookedFor(t *testing.T) {
	first := session.Join{Parent: "/queue", Name: "lock-"}
	type row struct {
		standing int
		ask      func(c *client, path string)
	}
	each(t, map[string]row{
		"a creation":                {0, func(c *client, _ string) { c.enter(first) }},
		"a creation without a GUID": {0, func(c *client, _ string) { c.enter(session.Join{Parent: "/queue", Name: "n_", Form: znode.Plain}) }},
		"a creation alone":          {0, func(c *client, _ string) { c.enter(session.Join{Parent: "/queue", Name: "one", Form: znode.Alone}) }},
		"a creation beside one that came to nothing": {0, func(c *client, _ string) {
			c.transact(session.CreateOp("/queue/lost", nil, session.Ephemeral()))
			time.Sleep(timeout)
			c.enter(first)
		}},
		"a replacement": {1, func(c *client, path string) { c.enter(session.Join{Parent: "/queue", Name: "lock-", Replace: path}) }},
		"a deletion":    {2, func(c *client, path string) { c.Remove(1, path, func(error) {}) }},
		"a transaction that creates": {0, func(c *client, _ string) {
			c.transact(session.CreateOp("/queue/x-", nil, session.Ephemeral(), session.Sequential()))
		}},
		"a transaction that deletes and creates": {1, func(c *client, path string) {
			c.transact(session.DeleteOp(path, -1), session.CreateOp("/queue/x", nil, session.Ephemeral()))
		}},
		"a transaction that deletes": {2, func(c *client, path string) { c.transact(session.DeleteOp(path, -1)) }},
	}, func(w *harness, row row) {
		f := w.atALeader()
		f.reachable.Store(1) // a server that may have a write is not asked for the session
		w.srv.Disconnect(f.id)
		time.Sleep(time.Second)
		require.NoError(w, f.s.EnsurePath(w.ctx, "/queue"))
		path := ""
		for range row.standing {
			j := f.client.join(w, 1, first)
			require.NoError(w, j.Err)
			path = j.Path
		}
		w.cutOnce(zktest.CutBefore, func(r *zktest.Request) bool { return r.Op == zktest.OpMulti && r.Ops[0].Path == "/queue/lost" })
		heal := w.meets(zktest.DropReply, func(r *zktest.Request) bool {
			return r.Op == zktest.OpMulti && r.Ops[0].Op != zktest.OpCheck || r.Op == zktest.OpDelete || creates(r)
		})
		f.client.told()
		row.ask(f.client, path)
		synctest.Wait()
		require.Len(w, w.ephemerals(f.id), 1, "it is carried out")
		f.reachable.Store(0)
		f.depose()
		time.Sleep(time.Second)
		heal()
		f.reachable.Store(1)
		require.False(w, f.gone())
		f.goneBeforeTheNext(2, func() {})
	}, deposable...)
}

// Where something may stand, and nothing does for certain, the end is told at once if one leader
// has led all the time: what it has ended it carries out no more. After another has come, it is
// told after twice the timeout and two ticks, whether the session lives or not.
func TestAnExpiryWithoutEvidence(t *testing.T) {
	asks := map[string]func(c *client, path string){
		"a creation":                 func(c *client, path string) { c.enter(session.Join{Parent: "/queue", Name: "lock-", Replace: path}) },
		"a deletion":                 func(c *client, path string) { c.Remove(1, path, func(error) {}) },
		"a transaction that deletes": func(c *client, path string) { c.transact(session.DeleteOp(path, -1)) },
	}
	pairs(t, asks, map[string]bool{"one leader": false, "another leader": true}, func(w *harness, ask func(c *client, path string), elected bool) {
		s, t := w.openClient(session.WithTimeout(timeout))
		path := t.inQueue(w).Path
		heal := w.meets(zktest.DropRequest, func(r *zktest.Request) bool { return r.Op == zktest.OpDelete || r.Op == zktest.OpMulti })
		ask(t, path)
		synctest.Wait()
		t.told()
		if elected {
			w.srv.Depose(0)
			w.srv.Continue(0)
		}
		w.srv.Expire(id(s))
		heal()
		time.Sleep(timeout)
		if elected {
			w.pass(2 * timeout)
			require.Equal(w, "disconnected", last(t.told()))
			time.Sleep(timeout)
		}
		require.Contains(w, last(t.told()), "began 2")
	}, zktest.WithServers(3), zktest.WithSeed(1))
}

// ZooKeeper ends a session at the first tick after its timeout, which a new leader counts anew: the
// end of what may stand is not told before that.
func TestAnExpiryWithoutEvidenceIsNotToldBeforeTheTick(t *testing.T) {
	inBubble(t, func(w *harness) {
		begun := time.Now()
		f := w.atALeader(session.WithTick(5 * time.Second))
		f.reachable.Store(1)
		w.srv.Disconnect(f.id)
		time.Sleep(time.Second)
		require.NoError(w, f.s.EnsurePath(w.ctx, "/queue"))
		heal := w.meets(zktest.DropReply, creates)
		f.client.enter(session.Join{Parent: "/queue", Name: "lock-"})
		time.Sleep(time.Until(begun.Add(6200 * time.Millisecond))) // what is left to the tick at the end is the most
		require.Len(w, w.ephemerals(f.id), 1, "it is carried out")
		f.reachable.Store(-1)
		w.srv.Disconnect(f.id)
		heal()
		time.Sleep(timeout - 100*time.Millisecond)
		f.reachable.Store(0)
		f.depose()
		for f.s.Status().State == session.Untrusted {
			time.Sleep(100 * time.Millisecond)
		}
		f.reachable.Store(1)
		f.client.told()
		f.goneBeforeTheNext(2, func() {})
	}, zktest.WithServers(3), zktest.WithTick(5*time.Second), zktest.WithSeed(22)) // the deposed leader learns it late in a tick
}

func (t *client) enter(j session.Join) { t.Join(1, j, func(session.Joined) {}) }

func (t *client) transact(ops ...session.Op) { t.Commit(1, ops, func([]session.Result, error) {}) }

// What has come into the place of a znode of an expired session may not be readable, and stay. The
// next epoch does not wait for it for ever.
func TestTheNextEpochDoesNotWaitForeverForWhatMayNotBeRead(t *testing.T) {
	t.Parallel()
	for _, version := range zktest.Versions() {
		t.Run(version, func(t *testing.T) {
			inBubble(t, func(w *harness) {
				s, t := w.openClient(session.WithTimeout(timeout))
				j := t.join(w, 1, session.Join{Parent: "/queue", Name: "alone", Form: znode.Alone})
				require.NoError(w, j.Err)
				other := w.open(session.WithAuth("digest", []byte("other:secret")))
				require.NoError(w, s.Sync(w.ctx, "/"))
				t.told()
				w.meets(zktest.Delay(time.Second), func(r *zktest.Request) bool { return r.Op == zktest.OpConnect && r.SessionID == 0 })
				w.srv.Expire(id(s))
				w.create(other, j.Path, nil, session.Ephemeral(), session.WithNodeACL(session.AuthACL(session.PermAll)...))
				time.Sleep(2 * timeout)
				told := t.told()
				if version == "3.8.0" {
					require.Contains(w, last(told), "began 2", "whose it is may be read")
					return
				}
				require.Equal(w, []string{"disconnected"}, told)
				time.Sleep(2 * timeout)
				require.Contains(w, last(t.told()), "began 2")
			}, zktest.WithVersion(version))
		})
	}
}
