package lock

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/troupe-go/troupe/session"
)

// Multi acquires several locks together, all or none. It only combines its locks: it has no znode,
// no goroutine and no end of its own, and there is nothing to close but the locks. It is safe for
// concurrent use.
//
// The locks are acquired one after the other in the order of their absolute paths, whatever order
// they were named in. So two callers that both use a Multi never wait for each other in a circle.
// Nested calls of [Lock.Lock] have to follow the same order themselves.
//
// While a Multi waits for one lock it holds those before it, and others wait for them.
type Multi struct {
	locks []*Lock // in canonical order
}

// NewMulti combines locks of any kind, of one session or of several. It does no I/O. The order of
// the arguments does not matter.
//
// Two locks on one path are refused, because the second would wait for the first. They are refused
// even if they belong to sessions on different servers: the addresses do not tell whether these are
// two ensembles or one under two names, and there would be no order that every process agrees on.
func NewMulti(locks ...*Lock) (*Multi, error) {
	if len(locks) == 0 {
		return nil, errors.New("lock.NewMulti: locks: none given")
	}
	at := make(map[string]int, len(locks))
	for i, l := range locks {
		if l == nil {
			return nil, fmt.Errorf("lock.NewMulti: locks[%d]: nil", i)
		}
		if before, twice := at[l.absolute()]; twice {
			return nil, &session.OpError{Op: "lock.NewMulti", Path: l.path, Err: fmt.Errorf("locks[%d]: same path as locks[%d]", i, before)}
		}
		at[l.absolute()] = i
	}
	m := &Multi{locks: slices.Clone(locks)}
	slices.SortFunc(m.locks, func(a, b *Lock) int { return cmp.Compare(a.absolute(), b.absolute()) })
	return m, nil
}

// absolute is the lock's path as every session sees it: with the chroot and the namespace.
func (l *Lock) absolute() string { return l.session.Path(l.path) }
