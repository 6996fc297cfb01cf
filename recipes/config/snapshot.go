package config

import (
	"bytes"

	"github.com/troupe-go/troupe/session"
)

// Snapshot is the state of a value as seen at some moment. Receivers share Value and must not
// change what it refers to.
type Snapshot[T any] struct {
	Value   T     // the last valid value that this cell has seen; the zero value if there was none
	Present bool  // the znode exists
	Err     error // why Value is not the value in ZooKeeper: [ErrBadData], with the codec's reason; nil if it is, or if there is none
	Stale   bool  // the connection is down: this is the last known state

	// These describe the znode, whether its data are valid or not; 0 if it does not exist. Czxid
	// and Mzxid distinguish a value from every other one ever written, unless the ensemble loses
	// its data; the version restarts when the znode is deleted and created again.
	Czxid, Mzxid int64
	Version      int32
}

// Good tells whether Value is the value in ZooKeeper, or was when last seen.
func (s Snapshot[T]) Good() bool { return s.Present && s.Err == nil }

// follow is the state after a read, and whether it differs. was: the data of this one. If servers
// have lost theirs, the same numbers may come with others.
func (s Snapshot[T]) follow(d session.Data, was []byte, c Codec[T]) (next Snapshot[T], changed bool) {
	next = s
	same := bytes.Equal(d.Bytes, was)
	next.Stale = d.Stale
	switch {
	case !d.Exists:
		next.Present, next.Err, next.Czxid, next.Mzxid, next.Version = false, nil, 0, 0, 0
	case s.Present && s.Czxid == d.Stat.Czxid && s.Mzxid == d.Stat.Mzxid && same:
	default:
		next.Present, next.Err = true, nil
		next.Czxid, next.Mzxid, next.Version = d.Stat.Czxid, d.Stat.Mzxid, d.Stat.Version
		v, err := decode(c, d.Bytes)
		if err != nil {
			next.Err = err
			break
		}
		next.Value = v
	}
	return next, next.Stale != s.Stale || next.Present != s.Present || next.Czxid != s.Czxid || next.Mzxid != s.Mzxid || !same
}
