package group_test

// Views: what observers of a group are shown, and what following it costs. The package's helpers
// are at the end.

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/group"
	"github.com/troupe-go/troupe/recipes/internal/observe"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestAViewIsStaleWhileTheConnectionIsDown(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		ha, hb := w.Host("a"), w.Host("b")
		bubble.Now(w, join(w, ha, "a", "1").Joined())
		ctx, cancel := context.WithCancel(w.Context())
		views := groupOn(w, hb).Observe(ctx)
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

// The first view has all members that were there, also one whose data come late. Afterwards a new
// member whose data are still being read holds back no view of the others.
func TestAViewWaitsForTheDataOfTheFirstMembersAlone(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		here, there := w.Host("here"), w.Host("there")
		for _, id := range []string{"a", "b"} {
			join(w, there, id, "")
		}
		synctest.Wait()
		slow := map[string]int{path + "/b": 2, path + "/c": 8} // so many reads of these fail first
		defer w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.SessionID == here.Status().SessionID && r.Op == zktest.OpGetData && slow[r.Path] > 0 {
				slow[r.Path]--
				return zktest.Fail(zktest.ErrThrottled) // it is read again after a pause
			}
			return zktest.Pass
		})()
		views := groupOn(w, here).Observe(w.Context())
		require.Equal(w, "a= b=", ids(bubble.Within(w, time.Minute, views)))
		require.Zero(w, slow[path+"/b"])
		join(w, there, "c", "")
		d := join(w, there, "d", "")
		synctest.Wait()
		require.Equal(w, "a= b= d=", ids(bubble.Within(w, time.Second, views)))
		require.NoError(w, d.Leave(w.Context()))
		require.Equal(w, "a= b=", ids(bubble.Within(w, time.Second, views)))
		bubble.Await(w, views, "c", func(v group.View) bool { return ids(v) == "a= b= c=" })
	})
}

// A member whose znode this session may not read is in the views without its data, on each version
// of ZooKeeper, and delays no view. When the member leaves, the next view is without it.
func TestAMemberThatMayNotBeReadIsInTheFirstView(t *testing.T) {
	t.Parallel()
	for _, version := range zktest.Versions() {
		t.Run(version, func(t *testing.T) {
			inBubble(t, func(w *bubble.World) {
				here := w.Host("here")
				there := w.Host("there", session.WithAuth("digest", []byte("bob:hunter2")), session.WithACL(session.AuthACL(session.PermAll)...))
				join(w, w.Host("open"), "a", "x")
				synctest.Wait()
				hidden := join(w, there, "b", "y")
				synctest.Wait()
				views := groupOn(w, here).Observe(w.Context())
				first := bubble.Within(w, time.Second, views)
				require.Equal(w, "a=x b=", ids(first))
				require.True(w, !first.Members[0].Unread && first.Members[1].Unread && !first.Stale)
				require.Equal(w, group.Member{Name: "b", Unread: true}, first.Members[1])
				require.Equal(w, "a=x b=", members(w, here))
				require.Equal(w, "a=x b=y", members(w, there))
				require.NoError(w, hidden.Leave(w.Context()))
				require.Equal(w, "a=x", ids(bubble.Within(w, time.Minute, views)))
			}, zktest.WithVersion(version))
		})
	}
}

// A member leaves and is there again before the observer hears of its end: it is in the view.
func TestAMemberThatIsBackBeforeItsEndIsHeardOf(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		here, there := w.Host("here"), w.Host("there")
		m := join(w, there, "m", "1")
		bubble.Now(w, m.Joined())
		var run func(func()) bool // has the observer's actor run a function: see observe.Started
		views := groupOn(w, here).Observe(context.WithValue(w.Context(), observe.Started{}, func(r func(func()) bool) { run = r }))
		before := bubble.Within(w, time.Second, views).Members[0].Token
		defer w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.SessionID == here.Status().SessionID && r.Op == zktest.OpGetChildren2 {
				return zktest.Delay(time.Second) // it shows the new member only
			}
			return zktest.Pass
		})()
		busy := make(chan struct{})
		require.True(w, run(func() { <-busy }))
		require.NoError(w, m.Leave(w.Context()))
		bubble.Now(w, join(w, there, "m", "2").Joined())
		time.Sleep(2 * time.Second) // the listing is in the mailbox, between the events of the member's end
		close(busy)
		v := bubble.Await(w, views, "the new member", func(v group.View) bool { return ids(v) == "m=2" })
		require.Greater(w, v.Members[0].Token, before)
	})
}

func TestAThousandMembersThatCameAndWentLeaveNoWatch(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		h, members := w.Host("observer"), w.Host("members")
		require.NoError(w, members.EnsurePath(w.Context(), path))
		ctx, cancel := context.WithCancel(w.Context())
		views := groupOn(w, h).Observe(ctx)
		require.Equal(w, 1, w.Watches(h.Session), "of the children")
		for round := range 10 {
			for i := range 100 {
				must(members.Create(w.Context(), fmt.Sprintf("%s/%d-%d", path, round, i), nil, session.Ephemeral()))
			}
			time.Sleep(time.Second)
			view := bubble.Now(w, views)
			require.Len(w, view.Members, 100)
			require.Equal(w, 101, w.Watches(h.Session))
			for _, m := range view.Members {
				require.NoError(w, members.Delete(w.Context(), path+"/"+m.Name, -1))
			}
			time.Sleep(time.Second)
			require.Empty(w, bubble.Now(w, views).Members)
			require.Equal(w, 1, w.Watches(h.Session))
		}
		cancel()
		require.Zero(w, w.Watches(h.Session))
	})
}

func TestDiff(t *testing.T) {
	t.Parallel()
	m := func(id, data string, token int64) group.Member {
		return group.Member{Name: id, Data: []byte(data), Token: token}
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

func TestMain(m *testing.M) { tier.Main(m) }

const path = "/groups/workers"

// inBubble runs a test in virtual time.
func inBubble(t *testing.T, f func(w *bubble.World), opts ...zktest.Option) {
	t.Helper()
	t.Parallel()
	bubble.Run(t, f, bubble.Brisk(opts...)...)
}

func groupOn(w *bubble.World, h *bubble.Host) *group.Group {
	w.Helper()
	return must(group.New(h.Session, path))
}

func join(w *bubble.World, h *bubble.Host, id, data string) *group.Membership {
	w.Helper()
	return must(groupOn(w, h).Join(group.Member{Name: id, Data: []byte(data)}))
}

// ids are those of a view with their data, as "a=x b=y".
func ids(v group.View) string {
	var all []string
	for _, m := range v.Members {
		all = append(all, m.Name+"="+string(m.Data))
	}
	return strings.Join(all, " ")
}

func members(w *bubble.World, h *bubble.Host) string {
	w.Helper()
	v := must(groupOn(w, h).Members(w.Context()))
	return ids(v)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func errOf[T any](_ T, err error) error { return err }
