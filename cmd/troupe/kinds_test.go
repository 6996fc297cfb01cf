package main

// troupe ls --kinds: what is used for what, from a path on; and the rounds of a double barrier.

import (
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/barrier"
	members "github.com/troupe-go/troupe/recipes/group"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// village has one of each kind below /app, and what is none.
func village(t *bubble.World) {
	t.Helper()
	queued(t, "/app/locks/a")
	campaigning(t, "/app/e")
	jobs(t)
	s := t.Session(session.WithoutIdentity())
	for range 2 {
		must(must(lock.NewSemaphore(s, "/app/sem", 2)).Lock(bubble.Minute(t)))
	}
	must(must(lock.NewWrite(s, "/app/rw")).Lock(bubble.Minute(t)))
	must(must(members.New(s, "/app/workers")).Join(members.Member{Name: "a"}))
	waiting(t, "/app/rounds", 3, "ann", "bob")
	must(twopc.NewSite(s, "/app/pay", "ledger"))
	c := must(twopc.NewCoordinator(s, "/app/pay"))
	must(c.Begin(bubble.Minute(t), "t-1", nil, "ledger"))
	require.NoError(t, t.Server.Znodes(t).Create("/app/locks/value", []byte("5")))
	synctest.Wait()
}

// waiting are parties of a double barrier that have arrived.
func waiting(t *bubble.World, path string, n int, ids ...string) (all []*barrier.Double) {
	t.Helper()
	for _, id := range ids {
		d := must(barrier.NewDouble(t.Session(), path, n, barrier.WithName(id)))
		d.Arrive()
		synctest.Wait()
		all = append(all, d)
	}
	return all
}

func TestLsKindsListsWhatIsUsedForWhat(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		village(t)
		_, before, _ := strings.Cut(t.Server.Dump(), "\n")
		golden(t, "ls-kinds", each("ls --kinds /\nls --kinds /app/locks -o json\nls --kinds /app/locks/value\nls --kinds /no\nls --kinds / --limit 3")...)
		_, after, _ := strings.Cut(t.Server.Dump(), "\n")
		require.Equal(t, before, after, "nothing is written")
	})
}

// Paths that vanish meanwhile are left out; paths that may not be read are counted.
func TestLsKindsGoesOnWithoutWhatItCannotSee(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		village(t)
		full := exits(t, 0, "ls", "--kinds", "/")
		for kind, path := range map[string]string{
			"lock": "/app/locks/a", "election": "/app/e", "queue": "/jobs/items", "double barrier": "/app/rounds/round-0000000001",
			"transaction": "/app/pay/tx", "group": "/app/workers",
		} {
			row := regexp.MustCompile(`(?m)^/\S+ +` + kind + `\b.*$`).FindString(full)
			require.NotEmpty(t, row, kind)
			for refusal, counted := range map[zktest.Code]bool{zktest.ErrNoNode: false, zktest.ErrNoAuth: true} {
				remove := t.Server.Intercept(func(q *zktest.Request) zktest.Verdict {
					if q.Op == zktest.OpGetChildren2 && q.Path == path {
						return zktest.Fail(refusal)
					}
					return zktest.Pass
				})
				out, code := troupe(t, "ls", "--kinds", "/")
				remove()
				require.Zero(t, code, "%s: %s", kind, out)
				require.NotContains(t, out, row, "a queue without its items is shorter, the others are left out")
				require.Equal(t, counted, strings.Contains(out, "not looked at: at least"), "%s: %s", kind, out)
				require.GreaterOrEqual(t, strings.Count(out, "\n"), 7, "the others: %s", out)
			}
		}
	})
}

func TestBarrierShowTellsWhoIsThereAndWhoIsMissing(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		all := waiting(t, "/rounds", 3, "ann", "bob")
		golden(t, "barrier-open", each("barrier show /rounds\nbarrier show /rounds -o json\nbarrier lower /rounds -y")...)
		dying := t.Session()
		d := must(barrier.NewDouble(dying, "/rounds", 3, barrier.WithName("cyd")))
		d.Arrive()
		first := bubble.Get(t, all[0].Entered())
		bubble.Get(t, all[1].Entered())
		bubble.Get(t, d.Entered())
		first.Depart()
		synctest.Wait()
		golden(t, "barrier-inside", each("barrier show /rounds\nbarrier break /rounds -y")...)
		t.Server.Expire(dying.Status().SessionID)
		t.Server.Partition(dying.Status().SessionID)
		time.Sleep(time.Second)
		out := exits(t, 0, "barrier", "show", "/rounds")
		// A party that has departed records the death of its neighbour; whose that is, the GUIDs
		// decide.
		require.Regexp(t, `released +3 +bob +(ann +1 +cyd|ann; cyd +0 )`, out)
	})
}

func TestBarrierBreakBreaksTheRoundThatPartiesWaitIn(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		all := waiting(t, "/rounds", 3, "ann", "bob")
		out, code := typed("n\n").run(bubble.Minute(t), t, "barrier", "break", "/rounds")
		require.Equal(t, 1, code)
		require.Equal(t, "break round-0000000001 of /rounds, in which 2 of 3 parties wait: ann, bob? [y/N] troupe: nothing was changed\n", out)
		require.NoError(t, all[0].Err())
		golden(t, "barrier-break", []string{"barrier", "break", "/rounds", "-y"})
		for _, d := range all {
			bubble.Within(t, time.Minute, d.Done())
			require.ErrorIs(t, d.Err(), barrier.ErrBroken)
		}
		out, code = troupe(t, "barrier", "break", "/rounds", "-y")
		require.NotZero(t, code)
		require.Contains(t, out, "/rounds has no round in which a party waits")
		waiting(t, "/rounds", 3, "ann")
		out, _ = troupe(t, "barrier", "show", "/rounds")
		require.Regexp(t, `round-0000000002 +open +3 +\[?ann`, out)
	})
}

// The round that was asked about is released meanwhile, and another one begins: that goes on.
func TestBarrierBreakLeavesTheNextRound(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		ann := waiting(t, "/rounds", 2, "ann")
		var next []*barrier.Double
		meanwhile := sync.OnceFunc(func() {
			for _, d := range append(ann, waiting(t, "/rounds", 2, "bob")...) {
				bubble.Get(t, d.Entered()).Depart()
			}
			synctest.Wait()
			next = waiting(t, "/rounds", 2, "cyd")
		})
		var out text
		code := reads{strings.NewReader("y\n"), meanwhile}.write(bubble.Minute(t), t, true, t.Server.Dialer(), &out, &out, "barrier", "break", "/rounds")
		require.Equal(t, 1, code)
		require.Contains(t, out.String(), "troupe: round-0000000001 is over: ")
		require.NoError(t, next[0].Err())
	})
}
