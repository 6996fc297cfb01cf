// Package queue is a work queue on ZooKeeper: each item is delivered to one consumer at a time, in
// order, and delivered again if that consumer dies.
//
//	orders, err := queue.New(sess, "/queues/orders")
//	…
//	id, err := orders.Put(ctx, []byte("…"))
//	…
//	consumer, err := orders.Consume(queue.WithPrefetch(32))
//	for item := range consumer.Items() {
//		if err := work(item.Context(), item.Data()); err != nil {
//			item.Nack(ctx) // back to its position
//			continue
//		}
//		item.Ack(ctx) // done: it is deleted
//	}
//
// # What it guarantees
//
//   - A Put that returned without an error is in ZooKeeper, once: a lost reply is resolved by
//     reading.
//   - At least once: an item stays until it is acknowledged. A consumer that dies, or whose session
//     ends, loses it; it is delivered again with Attempt increased by one. An Ack after the loss
//     returns session.ErrLost and changes nothing. With WithAutoAck: at most once, and cheaper.
//   - One consumer at a time: when this process's session ends, an item's Done closes locally
//     before another consumer can have it; see package session on trust.
//   - Order: within a priority, items are claimed in the order in which they were put; a returned
//     item keeps its position. A lower priority goes first, as far as a consumer knows: a watch
//     reports a new urgent item. With WithShards items are ordered within a shard only.
//   - A Put never exceeds the capacity of a bounded queue.
//   - A queue may hold hundreds of thousands of items: no znode has too many children to be listed,
//     and taking the head does not become slower.
//
// Several consumers work at the same time, so items claimed in order may finish out of order. An
// item may be processed twice, if a consumer dies between the work and the Ack. If the work is in
// ZooKeeper, Commit makes it atomic with the check of the claim; elsewhere WithID and the token
// help.
//
// # The states of an item
//
//	      Put                      Take, Items                   Ack
//	○ ──────────▶ ┌──────┐ ──────────────────────▶ ┌────────┐ ─────────▶ ●
//	│             │ wait │   claimed: Attempt + 1  │  held  │
//	│ WithDelay   └──────┘ ◀────────────────────── └────────┘
//	▼                ▲      Nack, loss, overdue        │ Nack, loss: after WithMaxAttempts
//	┌───────┐  due   │                                 ▼
//	│ later │ ───────┘                           dead letters
//	└───────┘
//
// # Failure
//
// A disconnection is not a loss: items stay valid while the session can be trusted to be alive, and
// are acknowledged when the connection is back. Consumers and waiting calls continue in the next
// session by themselves. After its loss an item never becomes valid again; the next delivery is a
// new value.
package queue
