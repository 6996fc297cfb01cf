// Package place knows where a queue's things lie in ZooKeeper: pure names.
//
//	/orders                                                  the queue: a container
//	/orders/ready-0-0000000000                               a bucket: priority 0, the first; open while its version is 0, sealed from then on
//	/orders/ready-0-0000000000/_c_<guid>-queue-0-0000000007  an item
//	/orders/ready-0-0000000000/_c_<guid>-queue-0-red-0000000008  one that was put WithID("red")
//	/orders/ready-0-0000000000/_c_<guid>-pack-0-0-1-64-0000000009  64 items that were put together, and that nobody has claimed yet
//	/orders/ready-0-0000000000/taken-0000000007-0000000008-<tag>  a claim on both: ephemeral
//	/orders/ready-0-0000000000/back-0000000008-<tag>         of these, the second was given back: ephemeral
//	/orders/ready-0.3-0000000000                             a bucket of the shard 3
//	/orders/later-1795286400000-0000000000                   a bucket of delayed items, none of which is due before this instant
//	/orders/ids/5e/red                                       the id of a living item: its GUID
//	/orders/room/03                                          how much room a bounded queue has left, a part of it
//	/orders/receipts/<guid>                                  what a producer put last, so that a lost answer can be made up for
//	/orders/clock                                            written to read the servers' clock
package place
