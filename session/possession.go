package session

import "reflect"

// Possession is anything with a [Hold] in it: a grant, a term, an item, or the hold itself. Only
// this package's Hold makes a type one.
type Possession interface{ possession() *Hold }

func (h *Hold) possession() *Hold { return h }

// holdOf is recipe.HoldOf.
func holdOf(p Possession) *Hold {
	if v := reflect.ValueOf(p); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil
	}
	return p.possession()
}
