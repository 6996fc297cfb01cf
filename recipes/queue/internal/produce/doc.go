// Package produce is the machine that puts items into a queue: pure decisions, run by package
// recipe. Package layout says what the znodes mean, and package tail appends items to the lanes.
//
// # One transaction
//
// A put is one transaction, and one is under way at a time; what comes meanwhile goes together into
// the next. If one put of several can't be carried out, it is answered for itself, and the others
// are sent again: together, if it is known which one it was, otherwise each alone.
//
// # Lost answers
//
// Every transaction writes the producer's receipt, on condition of its version: the numbers of the
// puts that were carried out last. Whoever has lost the answer reads the receipt and writes it
// again: from then on what was lost can't be carried out any more. The receipt outlives session and
// actor, so a put that is told again is not carried out twice; the server deletes it a while after
// the process is gone. As long as it stands nobody has made another queue at the path: versions
// that were read behind it are this queue's.
package produce
