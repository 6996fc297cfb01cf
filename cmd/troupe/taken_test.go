package main

// The output of break and revoke, and how long a command waits for a holder and for a server.

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestBreakAndRevokePrintWhatTheyBroke(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		g := locked(t, t.Session(session.WithIdentity("orders-7")), "/a", lock.WithData([]byte("nightly")))
		what := `: ` + g.Path() + `, owner orders-7 on host .* \(pid \d+\), session 0x\w+, queued 2000-01-01T01:00:00\+01:00, token \d+, data nightly\n$`
		out, _ := troupe(t, "lock", "revoke", "/a", "-y")
		require.Regexp(t, `^revoked`+what, out)
		out, _ = troupe(t, "lock", "break", "/a", "-y")
		require.Regexp(t, `^broken`+what, out)
		term, _ := campaigning(t, "/e")
		out, _ = troupe(t, "election", "break", "/e", "-y")
		require.Regexp(t, `^broken: `+term.Path()+`, owner .*, data http://a\n$`, out)
		out, _ = troupe(t, "election", "break", "/e", "-y", "-o", "json")
		require.Contains(t, out, `"path": "/e/`)
	})
}

func TestRevokeWaitsUntilTheHolderHasLetGoOrItsTimeIsOver(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		g := locked(t, t.Session(session.WithoutIdentity()), "/a")
		golden(t, "lock-revoke", each("lock revoke /a -y --timeout 20s")...)
		require.NoError(t, g.Err(), "it is not broken")
		began := time.Now()
		time.AfterFunc(30*time.Second, func() { _ = g.Release(t.Context()) })
		golden(t, "lock-revoke-wait", each("lock revoke /a -y --wait")...)
		require.GreaterOrEqual(t, time.Since(began), 30*time.Second)
	})
}

func TestAContenderThatHasGoneIsNotSaidToBeBroken(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"lock break", "lock revoke", "lock revoke --wait", "election break"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(t *bubble.World) {
				path, before := "/a", 1
				if recipe, _, _ := strings.Cut(command, " "); recipe == "lock" {
					queued(t, path)
				} else {
					campaigning(t, path)
					before = 2 // reads, until it is found
				}
				reads, gone := map[string]int{}, ""
				t.Server.Intercept(func(q *zktest.Request) zktest.Verdict {
					first := strings.HasSuffix(q.Path, "-0000000000") || strings.HasSuffix(q.Path, "n_0000000000")
					if q.Op == zktest.OpGetData && first {
						reads[q.Path]++
					}
					if first && gone == "" && (q.Op == zktest.OpDelete || reads[q.Path] > before) {
						gone = q.Path
						require.NoError(t, t.Server.Znodes(t).Delete(gone))
					}
					return zktest.Pass
				})
				out, code := troupe(t, append(strings.Fields(command), path, "-y")...)
				require.NotZero(t, code)
				require.Contains(t, out, gone+": the znode does not exist")
				require.NotContains(t, out, "broken:")
				require.NotContains(t, out, "revoked:")
			})
		})
	}
}

func TestConnectTimeoutIsHowLongItIsTried(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		t.Server.Stop(0)
		for flags, wait := range map[string]time.Duration{
			"": 10 * time.Second, "--session-timeout 20s": 20 * time.Second, "--connect-timeout 1s": time.Second,
		} {
			began := time.Now()
			out, code := troupe(t, append(strings.Fields(flags), "ls", "/")...)
			require.NotZero(t, code)
			require.Contains(t, out, "no server has answered (are --servers and --tls-* right, and are the servers up: troupe doctor asks each)")
			require.InDelta(t, wait, time.Since(began), float64(10*time.Millisecond), flags)
		}
		out, code := troupe(t, "ls", "/", "--connect-timeout", "-1s")
		require.NotZero(t, code)
		require.Contains(t, out, "--connect-timeout -1s: negative")
		time.AfterFunc(time.Hour, func() { t.Server.Continue(0) })
		out, code = typed("").run(t.Context(), t, "ls", "/", "--connect-timeout", "0")
		require.Zero(t, code)
		require.Contains(t, out, "/zookeeper\n")
	})
}

// Neither an error nor a line of the log says the server's name twice.
func TestALineNamesAServerOnce(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		t.Server.Kill(0)
		for _, command := range []string{"ls /", "lock ls /a --connect-timeout 40s", "doctor"} {
			out, code := troupe(t, strings.Fields(command)...)
			require.NotZero(t, code)
			require.Contains(t, out, t.Server.Hosts()[0])
			for line := range strings.Lines(out) {
				require.LessOrEqual(t, strings.Count(line, t.Server.Hosts()[0]), 1, "%s: %s", command, line)
			}
		}
	})
}

// The error of a wait that ends without a connection says so.
func TestAWaitThatEndsInAnOutageSaysSo(t *testing.T) {
	t.Parallel()
	require.ErrorIs(t, errNotGot, context.DeadlineExceeded, "of a run it is said likewise")
	bubble.Run(t, func(t *bubble.World) {
		queued(t, "/a")
		time.AfterFunc(time.Second, func() { t.Server.Stop(0) })
		out := exits(t, 124, "lock", "revoke", "/a", "-y", "--timeout", "20s")
		require.Regexp(t, `troupe: revoke /a/\S+: no connection to ZooKeeper for \S+: .*: revoked, but it has not let go within 20s`, out)
		require.NotContains(t, out, "waiting for a connection", "troupe does not wait for one at its end")
	})
}
