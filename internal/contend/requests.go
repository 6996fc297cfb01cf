package contend

import "github.com/troupe-go/troupe/machine"

// requests is what a machine asks for, and the numbers by which it knows the answers.
type requests struct {
	epoch uint64           // that they are asked in, 0: none
	last  uint64           // the number given last; none is given twice, in whatever epoch
	out   []machine.Effect // of the step under way
}

// do emits effects.
func (r *requests) do(effects ...machine.Effect) { r.out = append(r.out, effects...) }

// number is the next request's.
func (r *requests) number() uint64 {
	r.last++
	return r.last
}

// taken are the effects of the step, which is over.
func (r *requests) taken() []machine.Effect {
	out := r.out
	r.out = nil
	return out
}

// void: nothing follows from an event of this epoch, because that is over or has not begun.
func (r *requests) void(epoch uint64) bool { return r.epoch == 0 || epoch != r.epoch }
