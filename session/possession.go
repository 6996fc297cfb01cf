package session

import "reflect"

// Possession is anything with a [Hold] in it: a grant, a term, an item, or the hold itself. Only
// this package's Hold makes a type one.
type Possession interface{ possession() *Hold }

func (h *Hold) possession() *Hold { return h }

// HoldOf is the hold of a possession; nil if it is nil itself, or has none, as an item that was
// taken with queue.WithAutoAck.
func HoldOf(p Possession) *Hold {
	if v := reflect.ValueOf(p); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil
	}
	return p.possession()
}
