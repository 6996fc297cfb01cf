// Package prio is a recipe written by a user, on the public parts of Troupe: a revocable read-write
// lock with priorities, the one that ZooKeeper's recipe page leaves as an idea. It is an example of
// how a recipe is built (docs/writing-a-recipe.md), and a lock that works.
//
//   - Readers hold it together, writers alone.
//   - Whoever has the better (smaller) priority goes first, then whoever came first. Nobody who
//     holds it is passed over: they are asked to give way.
//   - A holder of a worse priority than whoever waits at the head sees Revoked. It need not follow.
//
// # Znodes
//
//	/path/line/<id>-w-005-0000000017   a contender: a GUID, its mode, its priority, its number. Ephemeral. Its data: "", "held", or "revoke" in front
//	/path/state                        who holds it: the names of holders, one a line. Those that do not exist any more have let go
//
// With priorities, no order of arrival decides alone: whoever finds itself first may be passed by
// somebody better before it has said so. So a grant is a transaction that competes for the version
// of the state. That also gives the token: the number of that transaction, which grows from grant
// to grant.
//
// # Who watches what
//
// Whoever has a waiter in front of it watches that one, which goes, or becomes a holder, and says
// so in its data. The one at the head watches the line. So a change wakes the head and at most one
// more.
//
// # States
//
//	           want                  made              others wait in front, or hold
//	┌──────┐ ────────▶ ┌──────────┐ ─────▶ ┌─────────┐ ─────────────────────────────▶ ┌─────────┐
//	│ idle │           │ standing │        │ looking │ ◀───────────────────────────── │ waiting │
//	└──────┘ ◀──┐      └──────────┘ ◀────┐ └─────────┘  a watch fires                 └─────────┘
//	            │ gone   ▲  own znode    │      │ first, and the state is still what was seen
//	       ┌─────────┐   │  gone, epoch  └──────┤
//	       │ leaving │   │  over               ▼
//	       └─────────┘ ◀─┴─ give, lost ── ┌─────────┐
//	                                      │ holding │
//	                                      └─────────┘
package prio
