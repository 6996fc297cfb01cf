package group_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/group"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestJoinUpdateLeave(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		ha, hb := w.Host("a"), w.Host("b")
		views := w.group(hb).Observe(w.Context())
		require.Empty(w, bubble.Now(w, views).Members)
		a := w.join(ha, "a", "1")
		bubble.Now(w, a.Joined())
		require.Equal(w, "a=1", ids(bubble.Now(w, views)))
		b := w.join(hb, "b", "2")
		bubble.Now(w, b.Joined())
		require.Equal(w, "a=1 b=2", ids(bubble.Now(w, views)))
		require.NoError(w, a.Update(w.Context(), []byte("3")))
		require.Equal(w, "a=3 b=2", ids(bubble.Now(w, views)))
		require.NoError(w, b.Leave(w.Context()))
		require.NoError(w, b.Leave(w.Context()))
		require.ErrorIs(w, b.Err(), session.ErrClosed)
		require.Equal(w, "a=3", ids(bubble.Now(w, views)))
		require.ErrorIs(w, b.Update(w.Context(), nil), session.ErrClosed)
		require.Equal(w, "a=3", w.members(ha))
		require.Equal(w, group.Standing{Phase: group.Present}, bubble.Now(w, a.Standing(w.Context())))
		require.Equal(w, group.Standing{Phase: group.Over}, bubble.Now(w, b.Standing(w.Context())))
	})
}

// B64, CURATOR-97, 241 and 154: after an expiry the member registers again by itself, with the
// latest data; also with those that were to be written meanwhile.
func TestB64_RegistersAgainWithTheLatestData(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h, other := w.Host("a"), w.Host("b")
		m := w.join(h, "a", "1")
		bubble.Now(w, m.Joined())
		require.NoError(w, m.Update(w.Context(), []byte("2")))
		w.Server.Expire(h.Status().SessionID)
		time.Sleep(10 * time.Second)
		require.Equal(w, "a=2", w.members(other))
		heal := h.Machine.Partition()
		done := make(chan error, 1)
		go func() { done <- m.Update(w.Context(), []byte("3")) }()
		time.Sleep(30 * time.Second)
		require.Empty(w, w.members(other), "its session is over")
		bubble.Never(w, done, "it can't be written")
		heal()
		require.NoError(w, bubble.Within(w, time.Minute, done))
		require.Equal(w, "a=3", w.members(other))
		m.Crash("a bug")
		time.Sleep(10 * time.Second)
		require.Equal(w, "a=3", w.members(other))
	})
}

// B65, CURATOR-190 and 483: many reconnections, many expiries, and one znode.
func TestB65_ManyReconnectionsOneZnode(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h, other := w.Host("a"), w.Host("b")
		m := w.join(h, "a", "1")
		for i := range 40 {
			if i%5 == 0 {
				w.Server.Expire(h.Status().SessionID)
			} else {
				w.Server.Disconnect(h.Status().SessionID)
			}
			time.Sleep(time.Duration(i) * 37 * time.Millisecond)
		}
		time.Sleep(10 * time.Second)
		require.Equal(w, "a=1", w.members(other))
		require.NoError(w, m.Err())
		require.NoError(w, m.Leave(w.Context()))
		require.Empty(w, w.members(other))
	})
}

// B66, CURATOR-485: an update before the first registration waits for it.
func TestB66_AnUpdateBeforeTheFirstRegistration(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h, other := w.Host("a"), w.Host("b")
		heal := h.Machine.Partition()
		m := w.join(h, "a", "1")
		done := make(chan error, 1)
		go func() { done <- m.Update(w.Context(), []byte("2")) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		require.ErrorIs(w, m.Update(ctx, []byte("3")), context.DeadlineExceeded)
		bubble.Never(w, done, "there is no connection")
		bubble.Never(w, m.Joined(), "there is no connection")
		heal()
		require.NoError(w, bubble.Within(w, time.Minute, done))
		require.Equal(w, "a=3", w.members(other), "the context bounds the wait, not the update")
	})
}

// B67, kazoo 58, 153 and 539: the group is deleted, and comes again; its observers go on.
func TestB67_TheGroupGoesAndComesAgain(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h, admin := w.Host("a"), w.Host("b")
		views := w.group(admin).Observe(w.Context())
		require.Empty(w, bubble.Now(w, views).Members)
		for range 3 {
			m := w.join(h, "a", "1")
			require.Equal(w, "a=1", ids(bubble.Now(w, views)))
			require.NoError(w, m.Leave(w.Context()))
			require.Empty(w, bubble.Now(w, views).Members)
			require.NoError(w, admin.Delete(w.Context(), path, -1))
		}
		m := w.join(h, "a", "1")
		first := bubble.Now(w, views)
		require.NoError(w, admin.DeleteAll(w.Context(), path))
		synctest.Wait()
		require.Equal(w, "a=1", w.members(admin), "it registers again")
		second := bubble.Now(w, views)
		change := group.Diff(first, second)
		require.Len(w, change.Joined, 1, "another registration")
		require.Len(w, change.Left, 1)
		require.NoError(w, m.Err())
	})
}

// Another living member has the id: an error, not silent sharing. The first one keeps it.
func TestADuplicateIsAnError(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		ha, hb := w.Host("a"), w.Host("b")
		first := w.join(ha, "same", "1")
		bubble.Now(w, first.Joined())
		views := w.group(hb).Observe(w.Context())
		require.Equal(w, "same=1", ids(bubble.Now(w, views)))
		_, err := w.group(ha).Join(group.Member{ID: "same", Data: []byte("1")})
		require.ErrorIs(w, err, group.ErrDuplicate, "of the same session: at once")
		for range 2 {
			second := w.join(hb, "same", "2")
			bubble.Now(w, second.Done()) // the other one answers
			require.ErrorIs(w, second.Err(), group.ErrDuplicate)
			bubble.Never(w, second.Joined(), "it never was")
			require.ErrorIs(w, second.Update(w.Context(), nil), group.ErrDuplicate)
		}
		require.NoError(w, first.Err())
		require.Equal(w, "same=1", w.members(hb))
		bubble.Never(w, views, "the questions are no changes")
	})
}

// The server grants a longer timeout than was asked for. A process is killed and started again, and
// is not connected yet when it joins: it can't know how long what is left of its predecessor will
// stand.
func TestAFormerLifeOfALongerTimeoutThanAsked(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		ha := w.Host("a")
		first := w.join(ha, "a", "1")
		bubble.Now(w, first.Joined())
		ha.Machine.Partition()
		s, err := session.New(w.Server.Hosts(), session.WithDialer(w.Server.Host("b").Dialer()), session.WithTimeout(6*time.Second))
		require.NoError(w, err)
		hb := &bubble.Host{Session: s}
		w.Cleanup(func() { _ = s.Close(context.Background()) })
		second := w.join(hb, "a", "2")
		time.Sleep(30 * time.Second)
		require.NoError(w, second.Err(), "the other one is dead, and stands")
		require.Equal(w, group.Standing{Phase: group.Barred}, bubble.Now(w, second.Standing(w.Context())))
		bubble.Within(w, time.Minute, second.Joined())
		require.Equal(w, "a=2", w.members(hb))
	}, zktest.WithSessionTimeouts(40*time.Second, time.Minute))
}

// The servers are away for longer than any timeout while a process waits for its predecessor's
// session to expire, which then has its whole time again.
func TestAFormerLifeOutlivesAnOutage(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		ha, hb := w.Host("a"), w.Host("b")
		first := w.join(ha, "a", "1")
		bubble.Now(w, first.Joined())
		ha.Machine.Partition()
		second := w.join(hb, "a", "2")
		synctest.Wait()
		w.Server.Kill(0)
		time.Sleep(time.Minute)
		require.NoError(w, w.Server.Restart(0))
		bubble.Within(w, time.Minute, second.Joined())
		require.NoError(w, second.Err())
		require.Equal(w, "a=2", w.members(hb))
	})
}

// One that lives and is cut off does not answer: it is waited for, until it is back or its session
// has expired.
func TestAnOwnerThatIsCutOff(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		ha, hb := w.Host("a"), w.Host("b")
		first := w.join(ha, "a", "1")
		bubble.Now(w, first.Joined())
		heal := ha.Machine.Partition()
		second := w.join(hb, "a", "2")
		time.Sleep(time.Second)
		bubble.Never(w, second.Done(), "it may be dead")
		heal()
		bubble.Within(w, 10*time.Second, second.Done())
		require.ErrorIs(w, second.Err(), group.ErrDuplicate)
		require.NoError(w, first.Err())
		require.Equal(w, "a=1", w.members(hb))
	})
}

// Many processes want one id, of which one has died: one gets it, and the others are told so.
func TestManyWantOneID(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		ha := w.Host("a")
		bubble.Now(w, w.join(ha, "a", "dead").Joined())
		ha.Machine.Partition()
		var all []*group.Membership
		for i := range 8 {
			all = append(all, w.join(w.Host(fmt.Sprint("h", i)), "a", "alive"))
		}
		time.Sleep(time.Minute)
		joined := 0
		for _, m := range all {
			if m.Err() == nil {
				joined++
				bubble.Now(w, m.Joined())
			} else {
				require.ErrorIs(w, m.Err(), group.ErrDuplicate)
			}
		}
		require.Equal(w, 1, joined)
		require.Equal(w, "a=alive", w.members(w.Host("admin")))
	})
}

// A process is started anew while the znode of its former life stands: it waits for its end, and
// does not take it for its own.
func TestAFormerLifeIsWaitedFor(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		ha, hb := w.Host("a"), w.Host("b")
		first := w.join(ha, "a", "1")
		bubble.Now(w, first.Joined())
		ha.Machine.Partition()
		second := w.join(hb, "a", "1")
		time.Sleep(2 * time.Second)
		bubble.Never(w, second.Joined(), "the znode is another session's")
		bubble.Within(w, time.Minute, second.Joined())
		v, err := w.group(hb).Members(w.Context())
		require.NoError(w, err)
		require.Equal(w, hb.Status().SessionID, v.Members[0].SessionID)
		require.NoError(w, second.Err())
	})
}

// The session id is replaced without a word, as some servers do: the old znode stands still, and is
// not taken for one's own.
func TestAnOldSessionsZnodeIsNotOnesOwn(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h, other := w.Host("a"), w.Host("b")
		m := w.join(h, "a", "1")
		bubble.Now(w, m.Joined())
		w.Server.ExpireSilently(h.Status().SessionID)
		time.Sleep(time.Minute)
		v, err := w.group(other).Members(w.Context())
		require.NoError(w, err)
		require.Len(w, v.Members, 1)
		require.Equal(w, h.Status().SessionID, v.Members[0].SessionID)
		require.NoError(w, m.Err())
	})
}

// An update is no interruption.
func TestStandingThroughAnUpdate(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		m := w.join(h, "a", "1")
		bubble.Now(w, m.Joined())
		defer w.Server.Intercept(func(r *zktest.Request) zktest.Verdict { return zktest.Delay(time.Millisecond) })()
		standings := m.Standing(w.Context())
		require.Equal(w, group.Present, bubble.Now(w, standings).Phase)
		require.NoError(w, m.Update(w.Context(), []byte("2")))
		for range 20 {
			time.Sleep(time.Millisecond)
			select {
			case s := <-standings:
				require.Equal(w, group.Present, s.Phase)
			default:
			}
		}
	})
}

func TestLostReplies(t *testing.T) {
	t.Parallel()
	for name, fate := range map[string]zktest.Verdict{
		"reply dropped": zktest.DropReply, "request dropped": zktest.DropRequest,
		"cut after": zktest.CutAfter, "cut before": zktest.CutBefore,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for k, met := 1, true; met; k++ {
				inBubble(t, func(w *world) {
					h, other := w.Host("a"), w.Host("b")
					id, n := h.Status().SessionID, 0
					defer w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
						if r.SessionID != id || r.Op == zktest.OpPing || r.Op == zktest.OpConnect {
							return zktest.Pass
						}
						if n++; n == k {
							return fate
						}
						return zktest.Pass
					})()
					m := w.join(h, "a", "1")
					bubble.Within(w, time.Minute, m.Joined())
					require.Equal(w, "a=1", w.members(other), "k=%d", k)
					for _, data := range []string{"2", "3"} {
						require.NoError(w, m.Update(w.Context(), []byte(data)))
						require.Equal(w, "a="+data, w.members(other), "k=%d", k)
					}
					require.NoError(w, m.Leave(w.Context()))
					require.Empty(w, w.members(other), "k=%d", k)
					met = n >= k
				})
			}
		})
	}
}

func TestAViewIsStaleWhileTheConnectionIsDown(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		ha, hb := w.Host("a"), w.Host("b")
		bubble.Now(w, w.join(ha, "a", "1").Joined())
		ctx, cancel := context.WithCancel(w.Context())
		views := w.group(hb).Observe(ctx)
		require.False(w, bubble.Now(w, views).Stale)
		heal := hb.Machine.Partition()
		v := bubble.Within(w, time.Minute, views)
		require.True(w, v.Stale)
		require.Equal(w, "a=1", ids(v))
		heal()
		for v.Stale {
			v = bubble.Within(w, time.Minute, views)
		}
		require.Equal(w, "a=1", ids(v))
		cancel()
		bubble.Closes(w, views)
	})
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		_, err := group.New(nil, path)
		require.ErrorContains(w, err, "s: nil")
		_, err = group.New(h.Session, "x")
		require.ErrorIs(w, err, session.ErrInvalidPath)
		g := w.group(h)
		for id, says := range map[string]string{"": "id: empty", "a/b": "id: contains a slash", "..": "id: ", "a\x00": "id: "} {
			_, err := g.Join(group.Member{ID: id})
			require.ErrorContains(w, err, says)
		}
		v, err := g.Members(w.Context())
		require.NoError(w, err)
		require.Empty(w, v.Members)
		_, exists, err := h.Exists(w.Context(), path)
		require.NoError(w, err)
		require.False(w, exists)
		require.NoError(w, h.Close(w.Context()))
		_, err = g.Join(group.Member{ID: "a"})
		require.ErrorIs(w, err, session.ErrClosed)
	})
}

func TestARefusalIsReported(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		_, err := h.Create(w.Context(), path, nil, session.Parents(), session.NodeACL(session.AnyoneACL(session.PermRead)...))
		require.NoError(w, err)
		m := w.join(h, "a", "1")
		bubble.Within(w, time.Second, m.Done())
		require.ErrorIs(w, m.Err(), session.ErrNoAuth)
	})
}

func TestDiff(t *testing.T) {
	t.Parallel()
	m := func(id, data string, token int64) group.Member {
		return group.Member{ID: id, Data: []byte(data), Token: token}
	}
	old := group.View{Members: []group.Member{m("a", "1", 1), m("b", "1", 2), m("c", "1", 3), m("d", "1", 4)}}
	next := group.View{Members: []group.Member{m("a", "1", 1), m("b", "2", 2), m("c", "1", 9), m("e", "1", 5)}}
	require.Equal(t, group.Change{
		Joined:  []group.Member{m("c", "1", 9), m("e", "1", 5)},
		Left:    []group.Member{m("c", "1", 3), m("d", "1", 4)},
		Updated: []group.Member{m("b", "2", 2)},
	}, group.Diff(old, next))
	require.Empty(t, group.Diff(old, old))
}
