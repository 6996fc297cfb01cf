// Package notify holds the channels that Troupe hands out: the only places where one is made, sent on or closed.
//
//   - [Latch]: closed once.
//   - [End]: a latch with the reason, the reason first.
//   - [Handoff]: a value that belongs to its one receiver, or is withdrawn.
//   - [Latest] and [Topic]: the present state, the new replacing the old; for one reader and for many.
//
// None of them ever makes the sender wait for a receiver. Where a goroutine is needed to wait instead, it lives only while a value is on offer, and
// withdrawing the value or closing the channel ends it.
package notify
