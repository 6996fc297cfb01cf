// Package plain serves queues in the layouts of other libraries, with blocking calls. Their items
// are sequential znodes below one parent; all are in each listing, so a queue is limited to some
// thousand of them.
//
//	Java           <queue>/qn-0000000007                       ZooKeeper's DistributedQueue
//	Kazoo          <queue>/entry-100-0000000007                kazoo's Queue; 100 is the priority
//	KazooLocking   <queue>/entries/entry-100-0000000007        kazoo's LockingQueue
//	               <queue>/taken/entry-100-0000000007          a claim: ephemeral
//	Curator        <queue>/queue-0000000007                    Curator's DistributedQueue
//	CuratorPriority <queue>/queue-1000000640000000007          DistributedPriorityQueue; 100 in hex,
//	                                                           behind 1, or behind 0 if negative
//	CuratorDelay   <queue>/queue-|19A2B3C4D5E|0000000007       DistributedDelayQueue; when it is due,
//	                                                           in hex milliseconds since 1970
//
// Without claims an item is deleted when it is taken, so it is delivered at most once. Curator's
// claims (a lock path) are not supported.
//
// Foreign names have no room for a GUID, so that a transaction whose answer was lost can't be told
// by what it made. Each also writes a mark into a znode beside the queue, a receipt, which tells:
//
//	<queue>-troupe/receipts/<guid>           the mark of the last transaction of one of its writers
//	<queue>-troupe/receipts/<guid>/alive-3   ephemeral: without it the server deletes the receipt
package plain
