// Package queue is a queue on ZooKeeper: each item is dealt with by one consumer at a time, in
// order, and again if he dies.
//
//	orders, err := queue.New(sess, "/queues/orders")
//	…
//	id, err := orders.Put(ctx, []byte("…"))
//	…
//	consumer, err := orders.Consume(queue.WithPrefetch(32))
//	for item := range consumer.Items() {
//		if err := work(item.Context(), item.Data()); err != nil {
//			item.Nack(ctx) // back to its place
//			continue
//		}
//		item.Ack(ctx) // done: it is deleted
//	}
//
// # What it guarantees
//
//   - A Put that returned without an error is in ZooKeeper, once: a lost reply is made up for by
//     looking.
//   - At least once: an item stays until it is acknowledged. A consumer that dies, or whose session
//     ends, loses it; it is delivered again with Attempt one higher. An Ack after the loss is
//     session.ErrLost and changes nothing. With WithAutoAck: at most once, and cheaper.
//   - One at a time: an item's Done closes, here, before another consumer can have it because this
//     one's session ended; see package session on trust.
//   - Order: within a priority, items are claimed in the order in which they were put; what was
//     given back keeps its place. A lower priority goes first, as far as a consumer knows of it:
//     word of a new urgent item comes by a watch. With WithShards there is order within a shard
//     only.
//   - Nobody can put into a bounded queue what exceeds its capacity.
//   - There may be hundreds of thousands of items: no znode has so many children that they can't be
//     listed, and the head does not become slower.
//
// What it does not: several consumers work at the same time, so what was claimed in order may be
// finished out of order. An item may be dealt with twice, when a consumer dies between the work and
// the Ack; Commit makes work and claim one where the work is in ZooKeeper, WithID and the token
// help elsewhere.
//
// # The life of an item
//
//	      Put                      Take, Items                   Ack
//	○ ──────────▶ ┌──────┐ ──────────────────────▶ ┌────────┐ ─────────▶ ●
//	│             │ line │   claimed: Attempt + 1  │  held  │
//	│ WithDelay   └──────┘ ◀────────────────────── └────────┘
//	▼                ▲      Nack, loss, overdue        │ Nack, loss: after WithMaxAttempts
//	┌───────┐  due   │                                 ▼
//	│ later │ ───────┘                           dead letters
//	└───────┘
//
// # Failure
//
// A disconnection is not a loss: items are held while the session can be trusted to be alive, and
// settled after it. Consumers and waiting calls go on in the next session by themselves. An item is
// one possession: after its loss it never becomes valid again, and what is delivered next is a new
// value.
package queue
