package consume

import "math/bits"

// window is how many items a consumer may have claimed and not settled.
type window struct {
	stream     bool
	forGood    bool // at most once
	workers    int
	size, most int
	adapts     bool
	quick      bool   // nothing that was handed out is too old
	total      uint64 // without a stream: how many were ever asked for
	delivered  uint64 // how many were ever handed out
	out        int    // at most once: how many were handed out and have found no receiver yet
	received   int    // how many items have found a receiver since the last transaction
}

// mostAhead bounds a window that adapts.
const mostAhead = 64

// slow is how long items may lie before the window counts as too large, in milliseconds. It is some
// ten round trips: what is settled sooner could have been claimed together.
const slow = 20

func newWindow(cfg Config) window {
	w := window{stream: cfg.Stream, forGood: cfg.Auto, workers: cfg.Workers, size: cfg.Prefetch, most: cfg.Prefetch}
	if cfg.Prefetch == 0 {
		w.size, w.most, w.adapts = min(max(cfg.Workers, 1), mostAhead), mostAhead, true
	}
	return w
}

// emptied: all that was claimed is settled.
func (w *window) emptied() {
	if w.adapts && w.quick {
		w.size = min(2*w.size, w.most)
	}
}

// old: what was handed out is too old, and so many items have been waiting for a receiver for too
// long.
func (w *window) old(ahead int) {
	w.quick = false
	if w.adapts && w.stream && ahead > 0 {
		w.size = max(w.size/2, 1)
	}
}

// waiting is how many were asked for and not handed out, without a stream.
func (w *window) waiting() int {
	if w.total <= w.delivered {
		return 0
	}
	return int(w.total - w.delivered)
}

// free is how many more items can be claimed, if so many are, and so many of these have no receiver
// yet.
func (w *window) free(all, ahead int) int {
	if w.stream {
		return max(w.size-all, 0)
	}
	return max(w.waiting()-ahead, 0)
}

// wants tells whether so much room is worth a place in line, if so many items have no receiver yet.
func (w *window) wants(room, ahead int) bool {
	return room > 0 && (ahead == 0 || 2*room >= w.size)
}

// spare is how many more items may be handed out, if so many have been that have no receiver yet,
// and so many have found one: those of the workers that have none are waiting. At most once,
// nothing is gained by handing out less than may wait.
func (w *window) spare(offered, taken int) int {
	switch {
	case w.stream && w.forGood:
		return max(w.size-w.out, 0)
	case w.stream:
		n := max(w.workers-taken, 1) + w.received - offered
		if w.fixed() { // a set is claimed as a whole, which may be more
			n = min(n, w.size-offered-taken)
		}
		return max(n, 0)
	}
	return max(w.waiting()-offered-w.out, 0)
}

// fixed tells whether the user has said how many there are: then only what is beyond that is given
// to others.
func (w *window) fixed() bool { return w.stream && !w.adapts }

// share is how many items are given to others, if so many could be, and how many fewer there may be
// from then on: otherwise they would be claimed again.
func (w *window) share(spare, all, ahead int) int {
	switch n := min(spare, (ahead+1)/2); {
	case spare <= 0:
		return 0
	case w.fixed():
		return max(min(spare, all-w.size), 0)
	case !w.stream:
		return spare
	default:
		w.size, w.quick = max(min(w.size, all-n), 1), false
		return n
	}
}

// deliver takes in that an item is handed out, for good or to be settled, and tells whether it has
// found its receiver by that.
func (w *window) deliver(forGood bool) (received bool) {
	w.delivered++
	if w.stream && forGood {
		w.out++
	}
	return !w.stream
}

func ones(set uint64) int { return bits.OnesCount64(set) }
