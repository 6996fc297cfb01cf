// Package prio is a user-defined recipe, written with Troupe's public packages: a revocable
// read-write lock with priorities, which ZooKeeper's recipe page only suggests. It is an example of
// how a recipe is built (docs/writing-a-recipe.md), and a working lock.
//
//   - Readers hold it together, writers alone.
//   - The contender with the better (smaller) priority goes first; among equals, the one that came
//     first. Nobody takes the lock from its holders: they are asked to release.
//   - A holder sees Revoked if a contender with a better priority waits at the head. It need not
//     comply.
//
// # Znodes
//
//	/path/line/<id>-w-005-0000000017   a contender: a GUID, its mode, its priority, its number. Ephemeral. Its data: "", "held", or "revoke" in front
//	/path/state                        the names of the holders, one per line. Those that no longer exist have released
//
// With priorities, the order of arrival does not decide alone: a contender that finds itself first
// may be overtaken by one with a better priority before it has said so. So a grant is a
// compare-and-set on the version of the state. That also provides the token: the zxid of that
// transaction, which grows from grant to grant.
//
// # Watches
//
// A contender with a waiter ahead of it watches that waiter's znode, which is deleted, or gets the
// mark of a holder in its data. The contender at the head watches the children. So a change wakes
// the head and at most one more.
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
