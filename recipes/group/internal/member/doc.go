// Package member is the machine of one member of a group: pure decision logic.
//
// A member is an ephemeral znode with just its id for a name, so that ZooKeeper itself lets one of
// each id in. A znode of that name may belong to another ZooKeeper session. Then it is another
// member's, or it was this member's before its session ended, and is about to go. The machine asks
// the owner (package owner), by a word behind the znode's data. An owner that lives sees the write
// to its znode, and writes its data again: so another member lives under the same id. Otherwise the
// znode goes in the end.
//
//	       ┌─────────┐ made  ┌─────────┐ own, with the latest data ┌─────────┐ Leave ┌─────────┐
//	─────▶ │ Joining │ ────▶ │ Reading │ ────────────────────────▶ │ Present │ ────▶ │ Leaving │ ──▶ Over
//	       └─────────┘ ◀──── └─────────┘ ◀──────────────────────── └─────────┘       └─────────┘
//	                   gone    │  ▲  │ ▲      something happened      │  ▲
//	               another's   ▼  │  ▼ │ written               Update ▼  │ written
//	                      ┌────────┐ ┌──────────┐               ┌──────────┐
//	                      │ Asking │ │ Updating │               │ Updating │
//	                      │ Barred │ └──────────┘               └──────────┘
//	                      └────────┘
package member
