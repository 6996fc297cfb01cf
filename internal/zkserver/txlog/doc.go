// Package txlog keeps records on disk so that a crash loses none that was waited for: a log that is
// only appended to, and snapshots that take the place of its beginning. What a record means is the
// caller's business.
//
//	lock                        held by the process that uses the folder
//	snapshot.0000000000000003   everything up to the end of log 2
//	log.0000000000000003        records since then
//	log.0000000000000004        the log that is written to
//
// A file is a header (what it is, a random salt, a checksum) and frames. A frame is the length of
// its content, a checksum of that length, a checksum of the content, and the content: records, each
// with its length in front. Both checksums cover the salt and the frame's place in the file, so
// that nothing that a client stores can pass for a frame.
//
// # What is promised
//
// [Store.Append] only collects. One goroutine writes what has been collected as one frame, and has
// the system bring it to the disk (fsync) before it takes the next: many that wait share one fsync.
// [Store.Wait] returns when a record is on the disk. Whoever answers after Wait has answered
// nothing that a crash of the process, of the machine or of its power can lose, provided that the
// disk keeps what it says it has.
//
// A frame is begun only when the one before it is on the disk. So whatever is wrong at the end of
// the last log is a frame that nobody has waited for: it is cut off. A bad frame with a good one
// behind it, or in another file than the last log, is damage: nothing is opened, and the error says
// where.
//
// After the first error of the disk nothing is written any more, and everybody who waits is told.
package txlog
