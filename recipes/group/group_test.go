package group_test

// A member's life: it joins, is updated and leaves, is registered again after each loss,
// and shares its id with no other. Helpers: views_test.go. Numbers such as B64: decision 6.

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/group"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestJoinUpdateLeave(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		ha, hb := w.Host("a"), w.Host("b")
		views := groupOn(w, hb).Observe(w.Context())
		require.Empty(w, bubble.Now(w, views).Members)
		a := join(w, ha, "a", "1")
		bubble.Now(w, a.Joined())
		require.Equal(w, "a=1", ids(bubble.Now(w, views)))
		b := join(w, hb, "b", "2")
		bubble.Now(w, b.Joined())
		require.Equal(w, "a=1 b=2", ids(bubble.Now(w, views)))
		require.NoError(w, a.Update(w.Context(), []byte("3")))
		require.Equal(w, "a=3 b=2", ids(bubble.Now(w, views)))
		require.NoError(w, b.Close(w.Context()))
		require.NoError(w, b.Leave(w.Context()), "both are one, and idempotent")
		require.ErrorIs(w, b.Err(), session.ErrClosed)
		require.Equal(w, "a=3", ids(bubble.Now(w, views)))
		require.ErrorIs(w, b.Update(w.Context(), nil), session.ErrClosed)
		require.Equal(w, "a=3", members(w, ha))
		require.Equal(w, group.Status{State: group.Joined}, bubble.Now(w, a.ObserveStatus(w.Context())))
		require.Equal(w, group.Status{State: group.Stopped}, bubble.Now(w, b.ObserveStatus(w.Context())))
	})
}

// B64, CURATOR-97, 241 and 154: after an expiry the member registers again by itself, with the
// latest data; also with those that were to be written meanwhile.
func TestB64_RegistersAgainWithTheLatestData(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		h, other := w.Host("a"), w.Host("b")
		m := join(w, h, "a", "1")
		bubble.Now(w, m.Joined())
		require.NoError(w, m.Update(w.Context(), []byte("2")))
		w.Server.Expire(h.Status().SessionID)
		time.Sleep(10 * time.Second)
		require.Equal(w, "a=2", members(w, other))
		heal := h.Machine.Partition()
		done := bubble.Begin(func() error { return m.Update(w.Context(), []byte("3")) })
		time.Sleep(30 * time.Second)
		require.Empty(w, members(w, other), "its session has expired")
		bubble.Never(w, done, "it can't be written")
		heal()
		require.NoError(w, bubble.Within(w, time.Minute, done))
		require.Equal(w, "a=3", members(w, other))
		m.Crash("a bug")
		time.Sleep(10 * time.Second)
		require.Equal(w, "a=3", members(w, other))
	})
}

// B65, CURATOR-190 and 483: many reconnections, many expiries, and one znode.
func TestB65_ManyReconnectionsOneZnode(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		h, other := w.Host("a"), w.Host("b")
		m := join(w, h, "a", "1")
		for i := range 40 {
			if i%5 == 0 {
				w.Server.Expire(h.Status().SessionID)
			} else {
				w.Server.Disconnect(h.Status().SessionID)
			}
			time.Sleep(time.Duration(i) * 37 * time.Millisecond)
		}
		time.Sleep(10 * time.Second)
		require.Equal(w, "a=1", members(w, other))
		require.NoError(w, m.Err())
		require.NoError(w, m.Leave(w.Context()))
		require.Empty(w, members(w, other))
	})
}

// B66, CURATOR-485: an update before the first registration waits for it.
func TestB66_AnUpdateBeforeTheFirstRegistration(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		h, other := w.Host("a"), w.Host("b")
		heal := h.Machine.Partition()
		m := join(w, h, "a", "1")
		done := bubble.Begin(func() error { return m.Update(w.Context(), []byte("2")) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		require.ErrorIs(w, m.Update(ctx, []byte("3")), context.DeadlineExceeded)
		bubble.Never(w, done, "there is no connection")
		bubble.Never(w, m.Joined(), "there is no connection")
		heal()
		require.NoError(w, bubble.Within(w, time.Minute, done))
		require.Equal(w, "a=3", members(w, other), "the context bounds the wait, not the update")
	})
}

// B67, kazoo 58, 153 and 539: the group is deleted, and comes again; its observers go on.
func TestB67_TheGroupGoesAndComesAgain(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		h, admin := w.Host("a"), w.Host("b")
		views := groupOn(w, admin).Observe(w.Context())
		require.Empty(w, bubble.Now(w, views).Members)
		for range 3 {
			m := join(w, h, "a", "1")
			require.Equal(w, "a=1", ids(bubble.Now(w, views)))
			require.NoError(w, m.Leave(w.Context()))
			require.Empty(w, bubble.Now(w, views).Members)
			require.NoError(w, admin.Delete(w.Context(), path, -1))
		}
		m := join(w, h, "a", "1")
		first := bubble.Now(w, views)
		require.NoError(w, admin.DeleteAll(w.Context(), path))
		synctest.Wait()
		require.Equal(w, "a=1", members(w, admin), "it registers again")
		second := bubble.Now(w, views)
		change := group.Diff(first, second)
		require.Len(w, change.Joined, 1, "another registration")
		require.Len(w, change.Left, 1)
		require.NoError(w, m.Err())
	})
}

// Another living member has the id: an error, not silent sharing. The first one keeps it.
func TestADuplicateIsAnError(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		ha, hb := w.Host("a"), w.Host("b")
		first := join(w, ha, "same", "1")
		bubble.Now(w, first.Joined())
		views := groupOn(w, hb).Observe(w.Context())
		require.Equal(w, "same=1", ids(bubble.Now(w, views)))
		require.ErrorIs(w, errOf(groupOn(w, ha).Join(group.Member{Name: "same", Data: []byte("1")})), group.ErrDuplicate, "of the same session: at once")
		for range 2 {
			second := join(w, hb, "same", "2")
			bubble.Now(w, second.Done()) // the other one answers
			require.ErrorIs(w, second.Err(), group.ErrDuplicate)
			bubble.Never(w, second.Joined(), "it never was")
			require.ErrorIs(w, second.Update(w.Context(), nil), group.ErrDuplicate)
			require.Equal(w, group.Status{State: group.Failed}, bubble.Now(w, second.ObserveStatus(w.Context())))
		}
		require.NoError(w, first.Err())
		require.Equal(w, "same=1", members(w, hb))
		bubble.Never(w, views, "the questions are no changes")
	})
}

// The last status tells an end that was wanted from a failure, and Err then says why.
func TestTheLastStatus(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		left, closed, owner, refused := w.Host("left"), w.Host("closed"), w.Host("owner"), w.Host("refused")
		a, b, c := join(w, left, "a", ""), join(w, closed, "b", ""), join(w, owner, "c", "")
		synctest.Wait()
		require.NoError(w, a.Leave(w.Context()))
		require.NoError(w, closed.Close(w.Context()))
		second := join(w, refused, "c", "")
		synctest.Wait()
		for m, want := range map[*group.Membership]group.State{a: group.Stopped, b: group.Stopped, second: group.Failed} {
			states := m.ObserveStatus(w.Context())
			require.Equal(w, want, bubble.Now(w, states).State)
			require.Error(w, m.Err())
			bubble.Closed(w, states)
		}
		require.Equal(w, group.Joined, bubble.Now(w, c.ObserveStatus(w.Context())).State)
	})
}

// The znode of a process that was killed exists while the process is started again. The new process
// waits until that znode is gone, and does not take it for its own. How long that takes is not
// known: the server may have granted a longer timeout than was asked for, or be away for longer
// than any timeout, after which the dead session has its whole time again.
func TestAFormerLifeIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		wait func(w *bubble.World)
		opts []zktest.Option
	}{
		"killed":                           {wait: func(*bubble.World) { time.Sleep(2 * time.Second) }},
		"with a longer timeout than asked": {wait: func(*bubble.World) { time.Sleep(30 * time.Second) }, opts: []zktest.Option{zktest.WithSessionTimeouts(40*time.Second, time.Minute)}},
		"through an outage": {wait: func(w *bubble.World) {
			synctest.Wait()
			w.Server.Kill(0)
			time.Sleep(time.Minute)
			require.NoError(w, w.Server.Restart(0))
			time.Sleep(time.Second)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *bubble.World) {
				ha, hb := w.Host("a"), &bubble.Host{Session: w.Unconnected(session.WithTimeout(6 * time.Second))}
				bubble.Now(w, join(w, ha, "a", "1").Joined())
				ha.Machine.Partition()
				second := join(w, hb, "a", "2")
				c.wait(w)
				bubble.Never(w, second.Joined(), "the znode is another session's")
				require.NoError(w, second.Err(), "the other one is dead, and its znode exists")
				require.Equal(w, group.Status{State: group.Waiting}, bubble.Now(w, second.ObserveStatus(w.Context())))
				bubble.Within(w, time.Minute, second.Joined())
				require.Equal(w, "a=2", members(w, hb))
				v := must(groupOn(w, hb).Members(w.Context()))
				require.Equal(w, hb.Status().SessionID, v.Members[0].SessionID)
			}, c.opts...)
		})
	}
}

// An owner that lives and is cut off does not answer: a second member of its id waits until the
// owner is back or its session has expired.
func TestAnOwnerThatIsCutOff(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		ha, hb := w.Host("a"), w.Host("b")
		first := join(w, ha, "a", "1")
		bubble.Now(w, first.Joined())
		heal := ha.Machine.Partition()
		second := join(w, hb, "a", "2")
		time.Sleep(time.Second)
		bubble.Never(w, second.Done(), "it may be dead")
		heal()
		bubble.Within(w, 10*time.Second, second.Done())
		require.ErrorIs(w, second.Err(), group.ErrDuplicate)
		require.NoError(w, first.Err())
		require.Equal(w, "a=1", members(w, hb))
	})
}

// An update is no interruption.
func TestStatusThroughAnUpdate(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		h := w.Host("a")
		m := join(w, h, "a", "1")
		bubble.Now(w, m.Joined())
		defer w.Server.Intercept(func(r *zktest.Request) zktest.Verdict { return zktest.Delay(time.Millisecond) })()
		states := m.ObserveStatus(w.Context())
		require.Equal(w, group.Joined, bubble.Now(w, states).State)
		updated := bubble.Begin(func() error { return m.Update(w.Context(), []byte("2")) })
		for range 20 {
			time.Sleep(time.Millisecond / 2)
			for len(states) > 0 {
				require.Equal(w, group.Joined, (<-states).State)
			}
		}
		require.NoError(w, bubble.Now(w, updated))
	})
}

func TestLostReplies(t *testing.T) {
	t.Parallel()
	bubble.EachFate(t, func(w *bubble.World, k int, strike func(s *session.Session)) {
		h, other := w.Host("a"), w.Host("b")
		strike(h.Session)
		m := join(w, h, "a", "1")
		bubble.Within(w, time.Minute, m.Joined())
		require.Equal(w, "a=1", members(w, other), "k=%d", k)
		for _, data := range []string{"2", "3"} {
			require.NoError(w, m.Update(w.Context(), []byte(data)))
			require.Equal(w, "a="+data, members(w, other), "k=%d", k)
		}
		require.NoError(w, m.Leave(w.Context()))
		require.Empty(w, members(w, other), "k=%d", k)
	}, bubble.Brisk()...)
}

func TestARefusalIsReported(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		h := w.Host("a")
		must(h.Create(w.Context(), path, nil, session.Parents(), session.WithNodeACL(session.AnyoneACL(session.PermRead)...)))
		m := join(w, h, "a", "1")
		bubble.Within(w, time.Second, m.Done())
		require.ErrorIs(w, m.Err(), session.ErrNoAuth)
	})
}

// The member is created, and the connection goes before the answer comes. The only server to be had
// is a leader that was deposed, and that wakes now: it answers a sync, and shows a group without
// the member. That does not confirm that the member has left.
func TestADeposedLeaderDoesNotConfirmThatAMemberHasLeft(t *testing.T) {
	t.Parallel()
	for round := range uint64(16) {
		bubble.Run(t, func(w *bubble.World) {
			const old = int64(0)       // the number of the server that is deposed
			var reachable atomic.Int64 // of the one that the member can connect to
			reachable.Store(1)
			observer := w.Host("observer")
			member := w.Host("member", session.WithDialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
				if addr != w.Server.Hosts()[reachable.Load()] {
					return nil, errors.New("out of reach")
				}
				return w.Server.Host("member").Dialer()(ctx, network, addr)
			}))
			require.NoError(w, observer.EnsurePath(w.Context(), path))
			require.NoError(w, member.Sync(w.Context(), "/"))
			w.Server.Depose(int(old))
			time.Sleep(10 * time.Second)
			synctest.Wait()

			remove := w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
				if r.Op == zktest.OpMulti { // the member is created
					reachable.Store(old)
					return zktest.CutAfter
				}
				return zktest.Pass
			})
			m := join(w, member, "a", "x")
			synctest.Wait()
			remove()
			require.Equal(w, old, reachable.Load(), "the member was created")
			left := bubble.Begin(func() error { return m.Leave(w.Context()) })
			time.Sleep(10 * time.Millisecond)
			synctest.Wait()
			w.Server.Continue(int(old))
			require.NoError(w, bubble.Within(w, time.Minute, left))
			require.NoError(w, observer.Sync(w.Context(), "/"))
			require.Empty(w, members(w, observer))
		}, bubble.Brisk(zktest.WithServers(3), zktest.WithTick(2*time.Second), zktest.WithSeed(round+1))...)
	}
}

// A member has no possession, so its session proves no trust: ZooKeeper gets its pings alone.
func TestAMemberSendsNoSyncs(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		for _, id := range []string{"a", "b", "c"} {
			join(w, w.Host(id), id, "")
		}
		time.Sleep(time.Minute)
		w.Server.ClearJournal()
		time.Sleep(10 * time.Minute)
		for _, r := range w.Server.Journal() {
			require.Equal(w, zktest.OpPing, r.Op)
		}
	})
}

// Another client puts a znode that no session owns into a member's place: the membership waits for
// it to go, and registers again.
func TestAZnodeThatNoSessionOwnsIsWaitedFor(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		here, other := w.Host("here"), w.Host("other")
		m := join(w, here, "a", "x")
		synctest.Wait()
		must(other.Multi(w.Context(), session.DeleteOp(path+"/a", -1), session.CreateOp(path+"/a", []byte("by hand"))))
		time.Sleep(time.Minute)
		require.NoError(w, m.Err())
		require.NoError(w, other.Delete(w.Context(), path+"/a", -1))
		time.Sleep(time.Second)
		require.Equal(w, "a=x", members(w, other))
		must(other.Create(w.Context(), path+"/b", nil))
		second := must(groupOn(w, here).Join(group.Member{Name: "b", Data: []byte("y")}))
		time.Sleep(time.Minute)
		require.NoError(w, second.Err())
		require.NoError(w, other.Delete(w.Context(), path+"/b", -1))
		time.Sleep(time.Second)
		require.Equal(w, "a=x b=y", members(w, other))
	})
}
