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
// A Put that returned without an error is in ZooKeeper, once. An item stays until it is
// acknowledged: a consumer that dies, or whose session expires, loses its items, and others get
// them, with Attempt increased by one. So an item may be processed twice. If the work is in
// ZooKeeper, [Item.Commit] makes it atomic with the check of the claim; elsewhere the id and the
// token help. When this process's session ends, an item's Done closes before another consumer can
// have the item: see package session on trust. A disconnection is not a loss.
//
// docs/recipes/queue.md lists what is guaranteed and what is not, the states of an item, the
// failures and what comes of each, and what each znode is for.
//
// # Which file for which task
//
//	queue.go     the handle, and puts; the errors
//	consumer.go  Take and Consumer, as callers see them
//	intake.go    the actor behind these: how many items are wanted, and which calls wait
//	deliver.go   the machine's effects: items are handed over, lost, settled
//	item.go      Item: Ack, Nack, Return, Extend, Commit
//	pause.go     Pause and Resume
//	browse.go    calls that read, count or remove items without claiming them
//	options.go   all options
//	internal/    layout names the znodes, produce and tail put, consume claims and settles, browse reads
package queue
