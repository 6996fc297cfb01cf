package machine

import (
	"maps"
	"slices"
)

// Requests are the pending requests of one machine, and the effects of its step. The zero value is
// ready to use, and knows of no epoch.
//
// The machine asks with [Requests.Ask], under a key that tells the purpose of the answer. It passes
// every event to [Requests.Accept], which drops void ones and finds the key again. At the end of
// the step it returns [Requests.Flush]. So it handles neither epochs nor numbers itself.
//
// A key is a comparable value, which can be printed with the rest of the machine: the constant of
// an enumeration, or a struct of a constant and the name of the request's object. One request is
// pending for each key. Asking again replaces it: the answer to the first is then void.
//
// Requests are not asked again after [Suspended]: the session does that. A watch that an answer has
// armed is not among them.
type Requests[K comparable] struct {
	epoch   uint64                // 0: none
	last    uint64                // the last number given; none is given twice, in any epoch
	pending map[uint64]pending[K] // by number: a machine may have thousands
	numbers map[K]uint64          // of the pending requests, by key
	effects []Effect              // of the step
}

type pending[K comparable] struct {
	key   K
	timer bool // a [Wake], which belongs to no epoch
}

// Request is an effect that is answered with its number: [List], [Read], [MultiRead], [Transact],
// [Ensure], [Remove], [Wake], [Record], and [Enter], whose number is that of its listing.
type Request interface {
	numbered(epoch, ask uint64) Effect
}

// Begin begins an epoch, with the number in [EpochBegan]. The requests of the one before are
// forgotten.
func (r *Requests[K]) Begin(epoch uint64) {
	r.End()
	r.epoch = epoch
}

// End ends the epoch. Its requests are forgotten, since they are not answered any more. A [Wake] is
// kept: it belongs to no epoch.
func (r *Requests[K]) End() {
	r.epoch = 0
	maps.DeleteFunc(r.pending, func(_ uint64, p pending[K]) bool {
		if !p.timer {
			delete(r.numbers, p.key)
		}
		return !p.timer
	})
}

// Epoch is the epoch that requests are asked in, 0 if there is none.
func (r *Requests[K]) Epoch() uint64 { return r.epoch }

// Last is the number of the last request. Those with greater numbers are asked later.
func (r *Requests[K]) Last() uint64 { return r.last }

// Ask emits a request, with the epoch and a number filled in, and remembers the key. It replaces a
// pending request under that key. It returns the number, which the answer carries.
func (r *Requests[K]) Ask(request Request, key K) uint64 {
	r.Forget(key)
	r.last++
	_, timer := request.(Wake)
	if r.pending == nil {
		r.pending, r.numbers = make(map[uint64]pending[K]), make(map[K]uint64)
	}
	r.pending[r.last], r.numbers[key] = pending[K]{key, timer}, r.last
	r.Emit(request.numbered(r.epoch, r.last))
	return r.last
}

// Pending tells whether a request under this key waits for its answer.
func (r *Requests[K]) Pending(key K) bool { return r.numbers[key] != 0 }

// Forget makes the answers to the requests under these keys void. A [Wake] goes on in the host.
func (r *Requests[K]) Forget(keys ...K) {
	for _, key := range keys {
		delete(r.pending, r.numbers[key])
		delete(r.numbers, key)
	}
}

// Cancel takes the [Wake] under this key back, if it has not gone off.
func (r *Requests[K]) Cancel(key K) {
	if ask := r.numbers[key]; ask != 0 {
		r.Emit(Cancel{Ask: ask})
		r.Forget(key)
	}
}

// Accept tells whether an event is valid. Events of another epoch are void, and answers to requests
// that are not pending. For an answer it returns the key of the request, which is then no longer
// pending; for any other event, the zero key.
func (r *Requests[K]) Accept(ev Event) (key K, ok bool) {
	epoch, ask, dated := origin(ev)
	switch {
	case dated && (r.epoch == 0 || epoch != r.epoch):
		return key, false
	case ask == 0:
		return key, true
	}
	p, ok := r.pending[ask]
	if ok {
		r.Forget(p.key)
	}
	return p.key, ok
}

// Emit adds effects to those of the step, which are no requests, or are not answered by number.
func (r *Requests[K]) Emit(effects ...Effect) {
	r.effects = append(slices.Grow(r.effects, max(4-len(r.effects), 0)), effects...) // four are enough for most steps
}

// Flush returns the effects of the step, at its end.
func (r *Requests[K]) Flush() (effects []Effect) {
	effects, r.effects = r.effects, nil
	return effects
}

func (e List) numbered(epoch, ask uint64) Effect      { e.Epoch, e.Ask = epoch, ask; return e }
func (e Read) numbered(epoch, ask uint64) Effect      { e.Epoch, e.Ask = epoch, ask; return e }
func (e MultiRead) numbered(epoch, ask uint64) Effect { e.Epoch, e.Ask = epoch, ask; return e }
func (e Transact) numbered(epoch, ask uint64) Effect  { e.Epoch, e.Ask = epoch, ask; return e }
func (e Ensure) numbered(epoch, ask uint64) Effect    { e.Epoch, e.Ask = epoch, ask; return e }
func (e Remove) numbered(epoch, ask uint64) Effect    { e.Epoch, e.Ask = epoch, ask; return e }
func (e Enter) numbered(epoch, ask uint64) Effect     { e.Epoch, e.Ask = epoch, ask; return e }
func (e Record) numbered(epoch, ask uint64) Effect    { e.Epoch, e.Ask = epoch, ask; return e }
func (e Wake) numbered(_, ask uint64) Effect          { e.Ask = ask; return e }

// origin is the epoch of an event, and the number of the request that it answers, 0 if it answers
// none by number. dated: it has an epoch; the beginning of an epoch does not count as one.
func origin(ev Event) (epoch, ask uint64, dated bool) {
	switch ev := ev.(type) {
	case Listed:
		return ev.Epoch, ev.Ask, true
	case Seen:
		return ev.Epoch, ev.Ask, true
	case MultiSeen:
		return ev.Epoch, ev.Ask, true
	case Transacted:
		return ev.Epoch, ev.Ask, true
	case Ensured:
		return ev.Epoch, ev.Ask, true
	case Removed:
		return ev.Epoch, ev.Ask, true
	case Recorded:
		return ev.Epoch, ev.Ask, true
	case Woke:
		return 0, ev.Ask, false
	}
	epoch, dated = noticed(ev)
	return epoch, 0, dated
}

// noticed is the epoch of an event that answers no request by number.
func noticed(ev Event) (epoch uint64, dated bool) {
	switch ev := ev.(type) {
	case EpochEnded:
		return ev.Epoch, true
	case Suspended:
		return ev.Epoch, true
	case Resumed:
		return ev.Epoch, true
	case TrustEnded:
		return ev.Epoch, true
	case TrustGained:
		return ev.Epoch, true
	case Fired:
		return ev.Epoch, true
	case Entered:
		return ev.Epoch, true
	case Downgraded:
		return ev.Epoch, true
	}
	return 0, false
}
