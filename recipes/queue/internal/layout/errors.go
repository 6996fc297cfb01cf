package layout

import "github.com/troupe-go/troupe/internal/sentinel"

// Errors that users see: package queue has the same ones.
const (
	ErrEmpty     = sentinel.ConstError("queue: empty")
	ErrFull      = sentinel.ConstError("queue: full")
	ErrDuplicate = sentinel.ConstError("queue: an item with this id is in the queue")
	ErrCapacity  = sentinel.ConstError("queue: the queue has another capacity")
)
