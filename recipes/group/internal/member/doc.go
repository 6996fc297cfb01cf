// Package member is the machine of one member of a group: pure decision logic.
//
// The member stands as an ephemeral znode with just its id for a name, so that ZooKeeper itself
// lets one of each id in. A znode of that name that belongs to another ZooKeeper session is
// somebody else's, or was this member's before its session ended, and is about to go. The machine
// asks its owner (package owner), by a word behind its data. One that lives sees that somebody
// wrote to its znode, and writes its data again: so another member lives under the same id. Else
// the znode goes in the end.
//
//	       ┌─────────┐ made  ┌─────────┐ own, with the latest data ┌─────────┐ Leave ┌─────────┐
//	─────▶ │ Joining │ ────▶ │ Reading │ ────────────────────────▶ │ Present │ ────▶ │ Leaving │ ──▶ Over
//	       └─────────┘ ◀──── └─────────┘ ◀──────────────────────── └─────────┘       └─────────┘
//	                   gone    │  ▲  │ ▲      something happened      │  ▲
//	        somebody else's    ▼  │  ▼ │ written               Update ▼  │ written
//	                      ┌────────┐ ┌──────────┐               ┌──────────┐
//	                      │ Asking │ │ Updating │               │ Updating │
//	                      │ Barred │ └──────────┘               └──────────┘
//	                      └────────┘
package member
