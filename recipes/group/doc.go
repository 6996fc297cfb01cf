// Package group tells who is there: members register, and everybody can see the view.
//
//	workers, err := group.New(sess, "/groups/workers")
//	…
//	me, err := workers.Join(group.Member{ID: hostname, Data: address}) // the intent: be in it, in every epoch
//	…
//	for view := range workers.Observe(ctx) {
//		rebalance(view.Members)
//	}
//
// # What it guarantees
//
//   - A [Membership] lives across epochs: after an expiry, a deletion by somebody else, or a crash
//     of its actor it registers again, with the latest data.
//   - One member of each id. A znode of the id that belongs to another ZooKeeper session is never
//     taken for one's own. It may be that of one's own former session, or of a process that has
//     died, whose session has not expired yet. So its owner is asked, by a few bytes behind its
//     data, which views leave out. One that lives answers, and the Membership ends with
//     [ErrDuplicate]. If nobody answers it waits until the znode goes, however long that takes. No
//     clock decides.
//   - A view is never older than the one before. While the connection is down it says so (Stale).
//
// # The states of a membership
//
//	 Join   ┌─────────┐  registered   ┌─────────┐  Leave  ┌──────┐
//	──────▶ │ Joining │ ────────────▶ │ Present │ ──────▶ │ Over │
//	        └─────────┘ ◀──────────── └─────────┘         └──────┘
//	          │     ▲     deleted, expired                   ▲
//	          ▼     │ gone                                   │
//	        ┌─────────┐  its owner answers                    │
//	        │ Barred  │ ─────────────────────────────────────┘ ErrDuplicate
//	        └─────────┘
package group
