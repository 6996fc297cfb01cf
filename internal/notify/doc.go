// Package notify holds the kinds of channels that Troupe hands out. docs/channels.md counts four of
// them: End is a Latch, Topic a Latest, and Finite a Stream to that page.
//
//   - [Latch]: closed once. [End]: a latch with a reason, the reason first.
//   - [Handoff]: a value that belongs to its one receiver, or is withdrawn. It never closes.
//   - [Latest] and [Topic]: the present state, the new replacing the old; for one reader and for
//     many. They close at their end.
//   - [Finite]: a stream of a known number of values, or fewer. Values that were sent before its end can be
//     received after it.
//   - [Stream]: every value once, in order, to the receiver that comes first. It closes at its end
//     and hands back the values that are left.
//
// None of them ever makes a sender wait for a receiver, so that a slow receiver holds up no actor.
// Where a goroutine must wait, it is one of the Handoff or the Stream. It lives only while a value
// is on offer; withdrawing the value or closing the stream ends it.
//
// A value is received or withdrawn, never both and never neither, however the two race: the
// decision is the channel's own.
//
//	Offer ──▶ on offer ──── a receiver took it ───▶ received: taken is called
//	              │
//	              └─────────── Withdraw ──────────▶ withdrawn: no receiver gets it
package notify
