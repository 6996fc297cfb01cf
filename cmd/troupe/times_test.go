package main

// Times: an age in tables, with their zone elsewhere; when a lock was granted, where anything
// tells.

import (
	"context"
	"math"
	"strings"
	"testing"
	"testing/synctest"
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
		require.NoError(t, t.Server.Create("/gate", nil))
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

// What a semaphore's holder writes at the grant is when that was, until something else is written.
func TestHeldIsShownWhereItIsWritten(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session(session.WithoutIdentity())
		var grants [2]*lock.Grant
		begun := make(chan error, 1)
		for i := range grants {
			l, err := lock.NewSemaphore(s, "/permits", 1)
			require.NoError(t, err)
			if i == 0 {
				grants[i], err = l.Lock(bubble.Minute(t))
				require.NoError(t, err)
				continue
			}
			go func() { grants[i], err = l.Lock(t.Context()); begun <- err }() // ends with the grant
			synctest.Wait()
		}
		time.Sleep(time.Hour)
		require.NoError(t, grants[0].Release(bubble.Minute(t)))
		require.NoError(t, <-begun)
		time.Sleep(time.Minute)
		out, _ := troupe(t, "lock", "ls", "/permits")
		require.Regexp(t, `QUEUED  HELD  .*\n\S+  holds  .*  1h1m    1m0s  `, out)
		require.NoError(t, lock.Revoke(bubble.Minute(t), s, grants[1].Path()))
		out, _ = troupe(t, "lock", "ls", "/permits")
		require.Regexp(t, `\n\S+  holds  .*  1h1m    -     yes`, out)
	})
}

// A watch knows since when somebody holds whom it has seen begin.
func TestAWatchTellsWhatItSaw(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		holder, _ := queued(t, "/a")
		term, _ := campaigning(t, "/e")
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		saw := func(command string) <-chan string {
			return bubble.Begin(func() string { out, _ := typed("").run(ctx, t, strings.Fields(command)...); return out })
		}
		locks, elections := saw("lock watch /a"), saw("election watch /e")
		time.Sleep(time.Minute)
		require.NoError(t, holder.Release(t.Context()))
		require.NoError(t, term.Resign(t.Context()))
		const zero, one = `2000-01-01T01:00:00\+01:00`, `2000-01-01T01:01:00\+01:00`
		require.Regexp(t, `(?s)holds .* `+zero+`  -  .*\n`+one+` ~ \S+  holds .* `+zero+`  `+one+`  `, <-locks)
		require.Regexp(t, `(?s)\+ a  \d+  -  .*\n`+one+` \+ b  \d+  `+one+`  `, <-elections)
	})
}
