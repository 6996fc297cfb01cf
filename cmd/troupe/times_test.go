package main

// Times: an age in tables, with their zone elsewhere; when a lock was granted, where anything
// tells.

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

func TestAgesAndTimesWithTheirZone(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		queued(t, "/locks/a")
		campaigning(t, "/elections/a")
		jobs(t)
		require.NoError(t, t.Server.Znodes(t).Create("/gate", nil))
		time.Sleep(4*time.Minute + 12*time.Second)
		golden(t, "times", each("lock ls /locks/a\nlock show /locks/a\nlock ls /locks/a -o json\nelection show /elections/a\n"+
			"queue ls /jobs\nqueue peek /jobs\nstat /gate\nbarrier show /gate\nbarrier lower /gate\nbarrier show /gate -o json")...)
		for after, want := range map[time.Duration]string{
			-time.Millisecond: "0s", -time.Hour: "in 1h0m", math.MinInt64: "in 106751d23h", 59 * time.Second: "59s", 60 * time.Second: "1m0s",
			24*time.Hour - 1: "23h59m", 49 * time.Hour: "2d1h",
		} {
			at := time.Now().Add(-after)
			if after == math.MinInt64 {
				at = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
			}
			require.Equal(t, want, age(at), after)
		}
	})
}

// A semaphore's holder writes its znode at the grant, so its Mtime is that of the grant until
// another write.
func TestHeldIsShownWhereItIsWritten(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session(session.WithoutIdentity())
		first := must(must(lock.NewSemaphore(s, "/permits", 1)).Lock(bubble.Minute(t)))
		waiter := must(lock.NewSemaphore(s, "/permits", 1, lock.WithData([]byte("unlock"))))
		waiter.Acquire()
		time.Sleep(time.Hour)
		require.NoError(t, first.Release(bubble.Minute(t)))
		second := bubble.Get(t, waiter.Acquired())
		time.Sleep(time.Minute)
		out, _ := troupe(t, "lock", "ls", "/permits")
		require.Regexp(t, `QUEUED  HELD  .*\n\S+  holds  .*  1h1m    1m0s  -  .* unlock\n`, out)
		require.NoError(t, waiter.Revoke(bubble.Minute(t), lock.Contender{Path: second.Path()}))
		out, _ = troupe(t, "lock", "ls", "/permits")
		require.Regexp(t, `\n\S+  holds  .*  1h1m    -     yes .* unlock\n`, out)
	})
}
