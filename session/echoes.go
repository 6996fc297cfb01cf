package session

import (
	"math"
	"slices"
	"time"
)

// echoes are what is known to have been heard by the server at the other end of a connection: when
// each request was sent, and when its answer came. Moments are monotonic.
type echoes struct {
	sent     []time.Duration // in order
	answers  []time.Duration // when those were answered
	shortest time.Duration   // trip from a request to its answer
	earliest time.Duration   // when the one before all of them was sent: the one for the session, of which the leader itself has heard
}

// most is how many requests are remembered: those of one and a half T, with grains of T/64. One has
// to look back by two standstills and half a tick, and a connection is given up when it has been
// silent for two thirds of T.
const most = 96

// since forgets all: there is a new connection, on which the session was asked for at that moment.
func (h *echoes) since(earliest time.Duration) {
	h.sent, h.answers, h.shortest, h.earliest = h.sent[:0], h.answers[:0], math.MaxInt64/2, earliest
}

// answered notes a request; one that was sent less than a grain after another that is remembered is
// left out.
func (h *echoes) answered(sent, answer, grain time.Duration) {
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

// age takes in that the wall clock has gone further than the monotonic one: the machine has slept,
// perhaps, and what is remembered is older by that.
func (h *echoes) age(by time.Duration) {
	by = max(by, 0)
	for i := range h.sent {
		h.sent[i] -= by
		h.answers[i] -= by
	}
	h.earliest -= by
}

// before is when the latest request was sent whose answer had come by that moment.
func (h *echoes) before(moment time.Duration) time.Duration {
	for i, answer := range slices.Backward(h.answers) {
		if answer <= moment {
			return h.sent[i]
		}
	}
	return h.earliest
}

// alive is the latest moment before this one up to which the server is known to have run for half a
// tick: that of the last answer by then. If within that half tick an answer was late, by more than
// that over the shortest trip, the server may have stood still then too, from the answer before on.
func (h *echoes) alive(moment, half, late time.Duration) time.Duration {
	last := h.answer(moment)
	for i, answer := range slices.Backward(h.answers) {
		if answer <= last-half {
			break
		}
		if answer <= last && answer-h.sent[i] > h.shortest+late {
			last = h.answer(h.sent[i])
		}
	}
	return last
}

// answer is when the last answer by that moment came.
func (h *echoes) answer(moment time.Duration) time.Duration {
	for _, answer := range slices.Backward(h.answers) {
		if answer <= moment {
			return answer
		}
	}
	return h.earliest
}
