package actors

import (
	"math/rand/v2"
	"slices"
	"time"
)

// Restarts says how often, and after what pauses, a panicking actor is restarted. Fields that are
// zero have their defaults.
type Restarts struct {
	Min    time.Duration // the pause after the first panic, 10 ms by default; doubled with each further one
	Max    time.Duration // the longest pause, 5 s by default
	Limit  int           // more panics than this, 10 by default …
	Within time.Duration // … in this time, a minute by default, and the actor is given up
}

func (r Restarts) orDefaults() Restarts {
	if r.Min <= 0 {
		r.Min = 10 * time.Millisecond
	}
	if r.Max <= 0 {
		r.Max = 5 * time.Second
	}
	r.Max = max(r.Min, r.Max)
	if r.Limit <= 0 {
		r.Limit = 10
	}
	if r.Within <= 0 {
		r.Within = time.Minute
	}
	return r
}

// history are the times of an actor's panics, as far back as they matter.
type history []time.Time

// next adds a panic and returns the pause before the restart; false if there is none.
func (h *history) next(r Restarts, now time.Time) (time.Duration, bool) {
	*h = slices.DeleteFunc(*h, func(t time.Time) bool { return now.Sub(t) >= r.Within })
	*h = append(*h, now)
	if len(*h) > r.Limit {
		return 0, false
	}
	pause := r.Min
	for range len(*h) - 1 {
		if pause >= r.Max-pause { // twice as long would be too long
			pause = r.Max
			break
		}
		pause *= 2
	}
	return pause/2 + rand.N(pause-pause/2+1), true // half of it is jitter, so that actors that panicked together do not restart together
}
