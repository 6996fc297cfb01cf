// Package recipe runs a recipe's machine as a supervised actor on a session.
//
//	face ──record, then Tell──▶ actor ──event──▶ machine
//	  ▲                          │  ▲               │
//	  └──── Perform ◀────────────┘  └─answer◀── session ◀── effect
//
// # What holds
//
//   - Events reach the machine one at a time, in the order that package machine promises. Nothing
//     blocks in the actor: a request runs beside it, bound to the epoch that asked, and its answer
//     comes back as a message.
//   - A panic restarts this one actor after a pause. Its possessions end with session.ErrRestarted
//     at once; every ephemeral znode that it had made is deleted, those of unknown outcome
//     included. Then a fresh machine is told the state of the session and the wishes that stand.
//     What it is told meanwhile waits; of what the session said, nothing is lost with the message
//     over which the panic came.
//   - When the actor is given up, or the session ends, the instance ends with the cause:
//     possessions are lost, and what is left in ZooKeeper is deleted in the background, until the
//     epoch ends.
//   - After Done no goroutine of it is left, and nothing more is performed.
//
// # Claims
//
// [Claims] is for recipes that offer possessions, as locks and elections do: their machines are
// told of claims and answer with grants. Beyond what is said above:
//
//   - A wish is in a ledger before the actor hears of it. The ledger outlives a crashed incarnation:
//     the next one is told of every wish that stands, and queues again, behind those who waited.
//   - A possession is offered to exactly one receiver, and withdrawn if it ends before it is
//     received.
//   - When the instance ends, its claims fail with the cause.
//
// # States
//
//	       New            panic, or the first failing
//	─────────────▶ running ─────────────▶ recovering ──┐ swept
//	                ▲  │ Stop, Close, end of session   │
//	                │  ▼                               │
//	                │ over                             │
//	                └──────────────────────────────────┘
package recipe
