// Package produce puts items into a queue. Package layout says what the znodes mean, and package
// tail appends items to the lanes.
//
// Puts that come while a transaction is under way go together into the next. Every transaction
// writes the producer's receipt, the numbers of its puts, on condition of the receipt's version. A
// producer that has lost the answer reads the receipt and writes it again. That changes the
// version: puts that were not carried out by then never will be. The receipt outlives the session,
// and the server deletes it a while after the process is gone. As long as the receipt exists, no
// client has made another queue at the path: versions read since then are of this queue's znodes. A
// mover has no receipt: see [NewMover].
package produce
