package machine

import "errors"

// ErrLimit fails the claims of a semaphore: its limit is not what was said, or too small for them.
var ErrLimit = errors.New("lock: the semaphore's limit is another")

// Write replaces a znode's data if it still has the version that it was read with, and if another
// znode has too.
type Write struct {
	Epoch   uint64
	Ask     uint64
	Path    string
	Data    []byte
	Version int32
	Guard   Guard
}

// Guard is a znode that must not have changed; without a path there is none.
type Guard struct {
	Path    string
	Version int32
}

// Written answers [Write]. Stale: a version was another, or a znode missing, or the outcome is not
// known; a read tells. Err is definite.
type Written struct {
	Epoch uint64
	Ask   uint64
	Stale bool
	Err   error
}

func (Written) event() {}
func (Write) effect()  {}
