package link

import "github.com/troupe-go/troupe/internal/jute"

// usual is of which kinds requests were answered. Servers hang up at what they don't know and at what is too large, and what they have answered before is neither.
// Under the Conn's mu.
type usual struct{ alone, parts map[jute.Op]bool }

func newUsual() usual { return usual{map[jute.Op]bool{}, map[jute.Op]bool{}} }

// took notes a request that was answered.
func (u usual) took(r *request) {
	if !u.alone[r.op] {
		u.alone[r.op] = true
	}
	for i := range r.ask.Ops {
		if part := r.ask.Ops[i].Op; !u.parts[part] {
			u.parts[part] = true
		}
	}
}

// is tells whether one of the same kind was answered; size is that of the largest that was.
func (u usual) is(r *request, size int) bool {
	if r.size > max(smallEnough, size) || !u.alone[r.op] {
		return false
	}
	for i := range r.ask.Ops {
		if !u.parts[r.ask.Ops[i].Op] {
			return false
		}
	}
	return true
}
