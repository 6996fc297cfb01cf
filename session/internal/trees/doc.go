// Package trees keeps a copy of all znodes below a path. It is pure: a [Machine] is told of events
// and of answers to reads, in the server's order, and says what to read next and when there is a
// tree to publish.
//
//	                    Event: what is dirty
//	                      │
//	Down ─▶ Resume ─▶ Probed ─▶ queue ──Next──▶ Answer ──▶ nothing dirty ──Due──▶ a tree, and its zxid
//	                                                           └─▶ after a second: 0
//
// An answer has seen all that was told before it. So when nothing is dirty, the copy is the
// server's state as of the last answer.
package trees
