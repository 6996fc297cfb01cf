// Package jute is ZooKeeper's wire codec: frames, requests, replies, events, and the numbers that
// name operations and errors.
//
// It is pure: bytes in, values out, and back. [Reader] never panics, never reads past its frame and
// never allocates more than the frame could hold, also if the frame claims to be longer; its first
// error sticks and everything after it reads as zero. [Writer] appends and cannot fail.
//
// A frame is a length (four bytes, big endian, not counting itself) and a body. The first frame of
// a connection is a [ConnectRequest], answered by a [ConnectResponse]. After that each frame from
// the client is a [Request] and each frame to the client a [Reply] or, with xid -1, an [Event].
//
//	client                               server
//	  │── ConnectRequest ──────────────────▶│
//	  │◀────────────────── ConnectResponse ─│   session id 0: expired
//	  │── Request{Xid: 1} ─────────────────▶│
//	  │◀──────────────────────────── Event ─│   xid -1
//	  │◀─────────────────── Reply{Xid: 1} ──│
//
// Null and empty differ on the wire: a null buffer is a nil slice here, an empty one a slice of
// length 0. Strings have no such pair in Go, so null strings read as [Null], which no other string
// on the wire is ever read as.
package jute
