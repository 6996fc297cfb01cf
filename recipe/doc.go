// Package recipe runs a recipe's machine as a supervised actor on a session. It is outside the
// promise of 1.0: a minor version may change it.
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
//     at once. Every ephemeral znode that it made is deleted, also those whose create has an unknown
//     outcome. Then a fresh machine is told the state of the session and the intents. Messages that
//     come meanwhile wait. A notice of the session is not lost if the actor panics over it.
//   - When the actor is given up, or the session ends, the instance ends with the cause:
//     possessions are lost, and what is left in ZooKeeper is deleted in the background, until the
//     epoch ends.
//   - After Done no goroutine of the instance is left, and nothing more is performed.
//
// # Claims
//
// [Claims] is for recipes that offer possessions, as locks and elections do: their machines are
// told of claims and answer with grants. Beyond what is said above:
//
//   - An intent is in the ledger before the actor is told of it. The ledger outlives a crashed
//     incarnation: the next one is told of every intent, and enters the queue again, behind the
//     contenders that waited.
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
//	                │ ended                            │
//	                └──────────────────────────────────┘
//
// # Which file for which task
//
//   - host.go, handle.go: an instance, and a handle without one, from New to Done
//   - actor.go, effects.go, message.go: what the actor is told, and how it carries out effects
//   - recovery.go: after a crash of the actor
//   - claims.go, ledger.go: what the face calls, and the record of the intents
//   - intents.go, grants.go: what the machine is told of the intents, and what it grants
//   - contender.go: the requests of contenders, and the record of a lock with a delay
//   - possession.go, downgrade.go: a possession, its release, its exchange for a reader's
//   - holder.go, alarm.go: which client or call holds what others wait for
//   - events.go: what events and snapshots tell of an instance and its possessions
//   - face.go: checks, options, errors, and parts of a session that recipes use
package recipe
