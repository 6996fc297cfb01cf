// Package produce puts items into a queue. Package layout says what the znodes mean, and package
// tail appends items to the lanes.
//
// What is put while a transaction is under way goes together into the next. Every transaction
// writes the producer's receipt, the numbers of its puts, on condition of the receipt's version. A
// producer that has lost the answer reads the receipt and writes it again. That changes the
// version: what was not carried out by then never will be. The receipt outlives the session, and
// the server deletes it a while after the process is gone. As long as it stands nobody has made
// another queue at the path: versions that were read behind it are this queue's. A mover keeps
// none: see [NewMover].
package produce
