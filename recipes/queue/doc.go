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
//			item.Nack(ctx) // back to its position; after a pause it is delivered again
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
//     returns session.ErrLost and changes nothing. With WithAutoAck: at most once, and cheaper.
//   - One consumer at a time: when this process's session ends, an item's Done closes locally
//     before another consumer can have it; see package session on trust.
//   - Attempts are receptions: an item that was claimed and goes back before anybody has received
//     it is as if it had never been claimed. After a crash the count is exact but for what was
//     being handed out within the last 100 ms.
//   - Order: within a priority, items are claimed in the order in which they were put; a returned
//     item keeps its position. A lower priority goes first, as far as a consumer knows: a watch
//     reports a new urgent item. With WithShards items are ordered within a shard only.
//   - A Put never exceeds the capacity of a bounded queue.
//   - A queue may hold hundreds of thousands of items: no znode has too many children to be listed,
//     and taking the head does not become slower.
//   - One bad item does not stop the queue. What cannot be read, or cannot be moved to the dead
//     letters, is skipped, reported on [Consumer.Errors], and tried again later.
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
//	│             │ wait │       claimed           │  held  │
//	│ WithDelay   └──────┘ ◀────────────────────── └────────┘
//	▼                ▲  ▲    loss, overdue, Close    │     │ after WithMaxAttempts
//	┌───────┐  due   │  │ due  ┌───────┐   Nack      │     ▼
//	│ later │ ───────┘  └───── │ pause │ ◀───────────┘  dead letters
//	└───────┘                  └───────┘
//
// An attempt is counted when an item goes back after it was received. Nack has it pause first:
// about a second after the first attempt, twice as long after each further one, an hour at most
// ([WithBackoff]); [After] sets another pause. After 25 attempts an item goes to the dead letters
// ([WithMaxAttempts]).
//
// # Consumers
//
// A [Consumer] claims items in advance, as many as suit them: it begins with one for each of
// WithWorkers, claims up to 64 while they are settled faster than they can be fetched, and gives
// back what nobody works on when another consumer waits. WithPrefetch sets a fixed number.
// Consumers that wait do so in line, and only the first one looks for items: a Put to many waiting
// consumers wakes one.
//
// # Failure
//
// A disconnection is not a loss: items stay valid while the session can be trusted to be alive, and
// are acknowledged when the connection is back. Consumers and waiting calls continue in the next
// session by themselves. After its loss an item never becomes valid again; the next delivery is a
// new value.
//
// # The end
//
// [Queue.Close] ends a handle, its consumers and the waiting calls of Take, and carries out what
// waits to be put; Done and Err tell of it. What a consumer has not handed out by its end goes back
// to its position; what was received and not settled is lost, and delivered to others. Under
// WithAutoAck there is no position to go back to: what was taken and not received is put anew, at
// the end of its priority.
package queue
