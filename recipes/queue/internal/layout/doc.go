// Package layout says which znodes a queue has, and what their names and data mean. It decides
// nothing.
//
//	/q/work                                      what a consumer watches that looks for items
//	/q/work/ready-<priority>-<number>            a bucket; open at version 0, see package place
//	/q/work/ready-…/<guid>-<count>-<sequence>    items that were put together, or a part of them: see Znode
//	/q/work/later-<slot>-<number>/…              items that are not due: see Delayed
//	/q/work/returned/<position>:<items>:<due>    items that were claimed and came back: see Entry
//	/q/work/alive/<tag>                          ephemeral: the consumer with this journal lives
//	/q/journal/<tag>                             what a consumer has claimed: see Journal
//	/q/cursor                                    up to where everything was claimed: see Cursor
//	/q/removed/<position>:<item>                 an item was removed from others: see [Root.Mark]
//	/q/cursor/kept                               keeps the cursor from being deleted by hand
//	/q/line/<tag>-<sequence>                     ephemeral: a consumer that has room for items
//	/q/receipts/<guid>                           what a producer has put last: see package produce
//	/q/ids/<hash>/<id>                           the GUID of the living item with this id
//	/q/room, /q/room/<part>                      the capacity, and how much of it is free: see package room
//	/q/clock                                     is written in order to read the servers' clock
//
// The version of /q/work tells whether a capacity was ever set: whoever sets one writes it.
package layout
