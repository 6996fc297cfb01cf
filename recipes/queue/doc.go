// Package queue is a work queue on ZooKeeper: each item is delivered to one consumer at a time, in
// order, and delivered again if that consumer dies.
//
//	orders, err := queue.New(sess, "/queues/orders")
//	…
//	id, err := orders.Put(ctx, []byte("…"), queue.WithHeader("content-type", "application/json"))
//	…
//	consumer, err := orders.Consume(queue.WithWorkers(4))
//	for item := range consumer.Items() { // in four goroutines
//		if err := work(item.Context(), item.Data()); err != nil {
//			item.Nack(ctx) // after a pause it is delivered again
//			continue
//		}
//		item.Ack(ctx) // done: it is deleted
//	}
//
// # What it guarantees
//
//   - A Put that returned without an error is in ZooKeeper, once: a lost reply is resolved by
//     reading. With Under it is put only while a lock or a leadership is held.
//   - At least once: an item stays until it is acknowledged. A consumer that dies, or whose session
//     ends, loses it; it is delivered again with Attempt increased by one. An Ack after the loss
//     returns session.ErrLost and changes nothing. With WithAutoAck: at most once.
//   - One consumer at a time: when this process's session ends, an item's Done closes locally
//     before another consumer can have it; see package session on trust.
//   - Order: lower priorities first, and within a priority in the order in which the items were
//     put, for a consumer that meets no other and for calls of Take one after another. Consumers
//     that claim at the same moment get out of each other's way: each then takes one of the first
//     64. What is returned without a pause keeps its position; what pauses goes to the end of its
//     priority when it is due.
//   - A Put never exceeds the capacity of a bounded queue.
//   - A queue may hold hundreds of thousands of items: no znode has too many children to be listed.
//   - One bad item does not stop the queue. What cannot be read, or cannot be moved to the dead
//     letters, is skipped, reported on [Consumer.Errors], and tried again after a minute.
//
// An item may be processed twice, if a consumer dies between the work and the Ack. If the work is
// in ZooKeeper, Commit makes it atomic with the check of the claim; elsewhere WithID and the token
// help.
//
// # The states of an item
//
//	      Put                      Take, Items                   Ack
//	○ ──────────▶ ┌──────┐ ──────────────────────▶ ┌────────┐ ─────────▶ ●
//	│             │ wait │       claimed           │  held  │
//	│ WithDelay   └──────┘ ◀────────────────────── └────────┘
//	▼                ▲  ▲    loss, overdue, Close    │     │ after WithMaxAttempts
//	┌───────┐  due   │  │ due  ┌───────┐   Nack      │     ▼
//	│ later │ ───────┘  └───── │ pause │ ◀───────────┘  dead letters
//	└───────┘                  └───────┘                     │ Requeue: it waits again
//
// An attempt is counted with the claim, and taken back if the item is returned before anybody has
// received it; what a consumer had claimed when it died counts, received or not. Nack has an item
// pause: about a second after the first attempt, twice as long after each further one, an hour at
// most ([WithBackoff]). After 25 attempts it goes to the dead letters ([WithMaxAttempts]).
//
// # What it is not made for
//
// Each claim writes the item again: bodies of some kilobytes suit, larger ones belong elsewhere.
// Idle consumers look one after another, so a burst of k items is with k of them after some three
// round trips each; one that hangs holds up the others for half a second, two that hang may hold
// them up until the session of one ends. In a bounded queue a slow producer often loses to quick
// ones. Nobody watches a claim: do not delete one by hand, since its consumer notices that when
// it settles the item, not before.
//
// # Failure and end
//
// A disconnection is not a loss: items stay valid while the session can be trusted to be alive, and
// are acknowledged when the connection is back. Consumers and waiting calls continue in the next
// session by themselves. After its loss an item never becomes valid again; the next delivery is a
// new value.
//
// [Queue.Close] ends a handle, its consumers and the waiting calls of Take, and carries out what
// waits to be put. What was received and not settled is lost, and delivered to others.
package queue
