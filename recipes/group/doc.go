// Package group provides group membership: members register, and every process can observe the
// view.
//
//	workers, err := group.New(sess, "/groups/workers")
//	…
//	me, err := workers.Join(group.Member{Name: hostname, Data: address}) // the intent: be a member, in every epoch
//	…
//	for view := range workers.Observe(ctx) {
//		rebalance(view.Members)
//	}
//
// # What it guarantees
//
//   - A [Membership] outlives epochs: after an expiry, a deletion by another client, or a crash of
//     its actor it registers again, with its latest data.
//   - One member per name. A znode of the name that belongs to another ZooKeeper session is never
//     taken over. It may belong to an earlier session of this process, or to a process that has
//     died and whose session has not expired yet. So the member asks the owner, by appending a few
//     bytes to the znode's data, which views omit. A live owner responds, and the Membership ends
//     with [ErrDuplicate]. Without a response it waits until the znode is gone, however long that
//     takes. No clock decides.
//   - A view is never older than the one before. Stale reports that the connection is down.
//
// # The states of a membership
//
//	 Join   ┌─────────┐  registered   ┌────────┐
//	──────▶ │ Joining │ ────────────▶ │ Joined │
//	        └─────────┘ ◀──────────── └────────┘
//	          │     ▲     deleted, expired
//	          ▼     │ gone
//	        ┌─────────┐  owner responds  ┌────────┐
//	        │ Waiting │ ───────────────▶ │ Failed │ ErrDuplicate
//	        └─────────┘                  └────────┘
//
// From each state: Stopped, by Leave or Close, or with the session; Failed, by an error that
// registering again would not fix. Both are final.
package group
