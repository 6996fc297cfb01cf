package actors

// Internals that the tests use.

import "time"

// Pauses returns the pauses that follow panics at these times; −1 where the actor is given up.
func Pauses(r Restarts, at ...time.Time) []time.Duration {
	var h history
	var pauses []time.Duration
	for _, t := range at {
		pause, ok := h.next(r.orDefaults(), t)
		if !ok {
			pause = -1
		}
		pauses = append(pauses, pause)
	}
	return pauses
}
