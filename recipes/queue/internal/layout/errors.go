package layout

import "errors"

// Errors that users see: package queue has the same ones.
var (
	ErrEmpty     = errors.New("queue: empty")
	ErrFull      = errors.New("queue: full")
	ErrDuplicate = errors.New("queue: an item with this id is in the queue")
	ErrCapacity  = errors.New("queue: the queue has another capacity")
)
