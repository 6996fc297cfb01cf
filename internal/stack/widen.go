// Package stack saves short goroutines the growing of their stacks.
package stack

// Room is how deep a goroutine may go after [Widen] without its stack being moved.
const Room = 5 << 10

// Widen lets the stack of a goroutine grow once, at its beginning, while there is hardly anything
// on it.
//
// Here a goroutine lives for one message or one request, and goes deeper than the stack that it
// begins with. Without this, the stack grows on the way, by doubling, each time with all frames
// looked up and copied: that was a fifth of the cost of an uncontended lock.
//
//go:noinline
func Widen() {
	var room [Room]byte
	touch(&room)
}

// touch keeps the compiler from doing without the room.
//
//go:noinline
func touch(*[Room]byte) {}
