package zktest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/zktest"
)

func TestSessionsExpireAtTheFirstTickAfterTheirTimeout(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name             string
		timeout, touched time.Duration // the timeout, and when the client is heard of last
		expires          time.Duration // since the server's start
	}{
		{"a whole number of ticks, touched at a tick", 4 * time.Second, 0, 6 * time.Second},
		{"touched right after a tick", 4 * time.Second, time.Nanosecond, 6 * time.Second},
		{"touched right before a tick", 4 * time.Second, 2*time.Second - 1, 6 * time.Second},
		{"touched at the next tick", 4 * time.Second, 2 * time.Second, 8 * time.Second},
		{"no whole number of ticks", 5 * time.Second, 0, 6 * time.Second},
		{"the remainders add up", 5 * time.Second, time.Second, 8 * time.Second},
		{"the maximum", 40 * time.Second, 0, 42 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, s *zktest.Server) {
				start := time.Now()
				watcher, holder := client(t, s, 40*time.Second), client(t, s, c.timeout)
				time.Sleep(c.touched)
				holder.must(t, create("/held", jute.FlagEphemeral))
				info, ok := s.Session(holder.session)
				require.True(t, ok)
				require.Equal(t, c.expires, info.Expires.Sub(start))
				require.Equal(t, []string{"/held"}, info.Ephemeral)

				time.Sleep(time.Until(start.Add(c.expires)) - 1)
				synctest.Wait()
				require.True(t, watcher.exists(t, "/held"), "a nanosecond before")
				time.Sleep(1)
				synctest.Wait()
				require.False(t, watcher.exists(t, "/held"), "at the instant")
				_, err := holder.frame()
				require.Error(t, err, "the connection is closed")
			})
		})
	}
}

func TestPingsKeepASessionAlive(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		c := client(t, s, 4*time.Second)
		c.must(t, create("/held", jute.FlagEphemeral))
		for range 1000 {
			time.Sleep(3900 * time.Millisecond)
			c.ping(t)
		}
		require.True(t, c.exists(t, "/held"))
	})
}

func TestTimeoutsAreNegotiated(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		asked, got time.Duration
	}{
		{"too short", time.Millisecond, 4 * time.Second},
		{"too long", time.Hour, 40 * time.Second},
		{"in between", 10 * time.Second, 10 * time.Second},
		{"negative", -time.Second, 4 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, s *zktest.Server) {
				require.EqualValues(t, c.got.Milliseconds(), client(t, s, c.asked).timeout)
			})
		})
	}
}

func TestReconnectionKeepsTheSessionAndMovesItsExpiry(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		start := time.Now()
		c := client(t, s, 10*time.Second)
		c.must(t, create("/held", jute.FlagEphemeral))
		c.conn.Close()
		time.Sleep(9 * time.Second)
		again, err := resume(s, c, 0)
		require.NoError(t, err)
		require.Equal(t, c.session, again.session)
		info, _ := s.Session(c.session)
		require.Equal(t, 20*time.Second, info.Expires.Sub(start))

		again.conn.Close()
		again.timeout = 4000 // a shorter one ends sooner
		last, err := resume(s, again, 0)
		require.NoError(t, err)
		info, _ = s.Session(c.session)
		require.Equal(t, 14*time.Second, info.Expires.Sub(start))
		time.Sleep(time.Until(info.Expires))
		synctest.Wait()
		_, ok := s.Session(c.session)
		require.False(t, ok)

		gone, err := resume(s, last, 0)
		require.NoError(t, err)
		require.Zero(t, gone.session, "expired")
		require.Zero(t, gone.timeout)
	})
}

func TestAWrongPasswordIsAnExpiredSession(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		c := client(t, s, 10*time.Second)
		thief := *c
		thief.password = make([]byte, 16)
		got, err := resume(s, &thief, 0)
		require.NoError(t, err)
		require.Zero(t, got.session)
		c.must(t, jute.Request{Op: jute.OpSync, Path: "/"})
	})
}

func TestAClientThatHasSeenMoreIsTurnedAway(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		c := client(t, s, 10*time.Second)
		c.seen = 1000
		_, err := resume(s, c, 0)
		require.Error(t, err, "closed without an answer")
	})
}

func TestAnotherConnectionOfTheSameSessionEndsTheFirst(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		c := client(t, s, 10*time.Second)
		again, err := resume(s, c, 0)
		require.NoError(t, err)
		_, err = c.frame()
		require.Error(t, err)
		again.must(t, create("/a", 0))
	})
}

// B35: a container goes when its last child has gone and somebody looks.
func TestContainersAndTTLZnodesAreReaped(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		start := time.Now()
		c := client(t, s, 40*time.Second)
		container := create("/c", jute.FlagContainer)
		container.Op = jute.OpCreateContainer
		c.must(t, container)
		container.Path = "/never-used"
		c.must(t, container)
		c.must(t, create("/c/child", 0))
		ttl := create("/t", jute.FlagPersistentTTL)
		ttl.Op, ttl.TTL = jute.OpCreateTTL, 90_000
		c.must(t, ttl)
		alive := func(until time.Duration) {
			for time.Since(start) < until-20*time.Second {
				time.Sleep(20 * time.Second)
				c.ping(t)
			}
			time.Sleep(time.Until(start.Add(until)))
			synctest.Wait()
		}
		alive(time.Minute)
		require.True(t, c.exists(t, "/c"), "it has a child")
		c.must(t, jute.Request{Op: jute.OpDelete, Path: "/c/child", Version: -1})
		alive(2*time.Minute - 1)
		require.True(t, c.exists(t, "/c"))
		require.True(t, c.exists(t, "/t"), "its time is over, but nobody has looked")
		alive(2 * time.Minute)
		require.False(t, c.exists(t, "/c"))
		require.False(t, c.exists(t, "/t"))
		require.True(t, c.exists(t, "/never-used"), "a container without a first child stays")
	})
}
