// Package layout says what the znodes of a queue are called and what is in them: pure functions.
//
//	items/<priority>-<bucket>/<guid>-queue-<seq>  an item: see [Record]
//	claims                                        data: none; or the queue is paused: nothing is to be claimed
//	claims/<priority>-<bucket>/<seq>              ephemeral: that item is claimed; data: the consumer's GUID
//	later/<slot>-<bucket>/<due>-<guid>-<seq>      an item with a delay, or that pauses
//	line/<guid>-<seq>                             ephemeral: a consumer that has room and found nothing
//	bell                                          set with each change that makes an item available
//	consumers/<guid>                              ephemeral: a consumer that lives, and its process; its claims end with it
//	receipts/<guid>                               the last puts of a producer
//	ids/<hash>/<id>                               an id that an item has; data: the item's GUID
//	size                                          of a queue with a capacity: see [Size]
//	dead                                          the dead letters: a queue
//
// # Buckets
//
// A znode with too many children cannot be listed. So the items of a priority lie in buckets of
// some hundred, which are numbered. The last is open, at version 0: each put checks that. The put
// that fills it seals it, by setting it to version 1, and makes the next. items/<bucket> and
// claims/<bucket> are made and deleted in the same transaction; a bucket is deleted when it is
// sealed and empty, but for number 0, which a producer that has seen none would make again. So
// everything in a bucket was put before everything in those with higher numbers.
package layout
