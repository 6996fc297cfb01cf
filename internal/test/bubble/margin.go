package bubble

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Pauses measures, until the test ends, for how long a goroutine that does nothing else is not run:
// on a busy machine an instant that a goroutine records is late by that much. longest returns the
// longest pause up to now.
func Pauses(t testing.TB) (longest func() time.Duration) {
	t.Helper()
	const every = time.Millisecond
	ask, stop := make(chan chan time.Duration), make(chan struct{})
	ended := make(chan struct{})
	go func() { // ends with the test
		defer close(ended)
		var worst time.Duration
		last := time.Now()
		ticks := time.NewTicker(every)
		defer ticks.Stop()
		for {
			select {
			case <-ticks.C:
				worst = max(worst, time.Since(last)-every)
				last = time.Now()
			case answer := <-ask:
				answer <- max(worst, time.Since(last)-every)
			case <-stop:
				return
			}
		}
	}()
	t.Cleanup(func() { close(stop); <-ended })
	return func() time.Duration {
		answer := make(chan time.Duration)
		ask <- answer
		return <-answer
	}
}

// InTime logs by how much, by a real clock, possessions ended before their rivals were granted. It
// fails if one ended later than that by more than the longest pause: then the two instants can't
// merely have been recorded late.
func InTime(t testing.TB, what string, leads []time.Duration, pause time.Duration) {
	t.Helper()
	leads = slices.Sorted(slices.Values(leads))
	require.NotEmpty(t, leads)
	late := 0
	for late < len(leads) && leads[late] < 0 {
		late++
	}
	round := func(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
	t.Logf("%s: %d of %d overlaps; the end came at least %v before, in the median %v; the longest pause of a goroutine was %v",
		what, late, len(leads), round(leads[0]), round(leads[len(leads)/2]), round(pause))
	require.GreaterOrEqual(t, leads[0], -pause, what)
}
