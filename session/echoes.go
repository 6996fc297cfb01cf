package session

import (
	"slices"
	"time"
)

// echoes are what is known to have been heard by a server of a session's requests: when each was sent, and when its answer came. Moments are monotonic.
type echoes struct {
	sent     []time.Duration // in order
	answers  []time.Duration // when those were answered
	earliest time.Duration   // when the one before all of them was sent
}

// most is how many requests are remembered: those of three quarters of T, with grains of T/64. One has to look back by half a tick, a quarter of T at most, and a
// connection is given up when it has been silent for two thirds of T.
const most = 48

// since forgets all: the latest request before was sent at that moment, and has been answered.
func (h *echoes) since(earliest time.Duration) {
	h.sent, h.answers, h.earliest = h.sent[:0], h.answers[:0], earliest
}

// answered notes a request; one that was sent less than a grain after another that is remembered is left out.
func (h *echoes) answered(sent, answer, grain time.Duration) {
	if n := len(h.sent); n > 0 && sent < h.sent[n-1]+grain {
		return
	}
	if len(h.sent) == most {
		h.earliest = h.sent[0]
		h.sent, h.answers = append(h.sent[:0], h.sent[1:]...), append(h.answers[:0], h.answers[1:]...)
	}
	h.sent, h.answers = append(h.sent, sent), append(h.answers, answer)
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
