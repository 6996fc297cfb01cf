// Package host runs a state machine as a supervised actor on a session, and gives a recipe's face
// plain Go to build on: intents, blocking claims, possessions on a channel.
//
//	face ──Stand/Claim/Release──▶ ledger ──message──▶ host actor ──event──▶ machine
//	  ▲                                                  │  ▲                  │
//	  └──possession, standing, error── notify ◀──────────┘  └── answer ◀── session ◀── effect
//
// # What holds
//
//   - A wish is in the ledger before the actor hears of it. The ledger outlives a crashed
//     incarnation of the actor, which the next one makes good: possessions end with
//     session.ErrRestarted, wishes go on, znodes that the crash left are found and taken over or
//     deleted.
//   - Nothing blocks in the actor. A request runs beside it, bound to the epoch that asked, and its
//     answer comes back as a message.
//   - A possession is offered to exactly one receiver and withdrawn if it ends before it is
//     received.
//   - When the actor is given up, the instance ends with the cause, its claims fail with it, and
//     the session deletes its znodes.
package host
