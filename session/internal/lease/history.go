package lease

import (
	"math"
	"slices"
	"time"
)

// history records what the server at the other end of a connection has heard: when each request was
// sent, and when its answer came. Moments are monotonic.
type history struct {
	sent     []time.Duration // in order
	answers  []time.Duration // when those were answered
	shortest time.Duration   // trip from a request to its answer
	earliest time.Duration   // when the request before all of them was sent: at first the connect request, which reached the leader itself
}

// most is how many requests are remembered: those of one and a half T, with grains of T/64. The
// rules look back by two standstills and half a tick, and a connection is given up when it has been
// silent for two thirds of T.
const most = 96

// restart forgets all: there is a new connection, on which the session was asked for at that
// moment.
func (h *history) restart(earliest time.Duration) {
	h.sent, h.answers, h.shortest, h.earliest = h.sent[:0], h.answers[:0], math.MaxInt64/2, earliest
}

// add records a request that was answered. One that was sent less than a grain after another that
// is remembered is left out.
func (h *history) add(sent, answer, grain time.Duration) {
	h.shortest = min(h.shortest, answer-sent)
	if n := len(h.sent); n > 0 && sent < h.sent[n-1]+grain {
		return
	}
	if len(h.sent) == most {
		h.earliest = h.sent[0]
		h.sent, h.answers = append(h.sent[:0], h.sent[1:]...), append(h.answers[:0], h.answers[1:]...)
	}
	h.sent, h.answers = append(h.sent, sent), append(h.answers, answer)
}

// age takes in that the wall clock has gone further than the monotonic one: the machine may have
// slept, and what is remembered is older by that.
func (h *history) age(by time.Duration) {
	by = max(by, 0)
	for i := range h.sent {
		h.sent[i] -= by
		h.answers[i] -= by
	}
	h.earliest -= by
}

// before is the latest request whose answer had come by that moment: when it was sent, and when it
// was answered.
func (h *history) before(moment time.Duration) (sent, answer time.Duration) {
	for i, answer := range slices.Backward(h.answers) {
		if answer <= moment {
			return h.sent[i], answer
		}
	}
	return h.earliest, h.earliest
}

// sentBefore is when the latest request was sent whose answer had come by that moment.
func (h *history) sentBefore(moment time.Duration) time.Duration {
	sent, _ := h.before(moment)
	return sent
}

// aliveAt is the latest moment before this one up to which the server is known to have run for half
// a tick: that of the last answer by then. If within that half tick an answer was late, by more
// than that over the shortest trip, the server may have stood still then too, from the answer
// before on.
func (h *history) aliveAt(moment, half, late time.Duration) time.Duration {
	_, last := h.before(moment)
	for i, answer := range slices.Backward(h.answers) {
		if answer <= last-half {
			break
		}
		if answer <= last && answer-h.sent[i] > h.shortest+late {
			_, last = h.before(h.sent[i])
		}
	}
	return last
}
