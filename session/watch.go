package session

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/troupe-go/troupe/internal/seam"
)

// Data is what a znode holds, as seen at some moment. Receivers share Bytes and must not change
// them.
type Data struct {
	Exists bool   // false: there is no such znode, and Bytes and Stat are zero
	Bytes  []byte // its data
	Stat   Stat
	Stale  bool // the connection is down: so it was when last seen
}

// Children is who is below a znode, as seen at some moment. Receivers share Names and must not
// change them.
type Children struct {
	Exists bool     // false: there is no such znode, and Names and Stat are zero
	Names  []string // in no order; names, not paths
	Stat   Stat
	Stale  bool // the connection is down: so it was when last seen
}

// WatchData is a subscription to a znode's data, its birth and its end: the present state first,
// then each newer one, replacing one that was not received. States in between may be left out, the
// last one never is; a change made while the connection was down comes after it. It goes on through
// expiry.
//
// However many watch a path, ZooKeeper is asked for one watch, and told to forget it when the last
// of them goes; servers before 3.5 cannot be told, and keep it until it fires or the epoch ends.
// The channel closes when ctx or the session ends; at once if the session is closed or the path is
// not valid, and early if the actor behind it failed too often, which the log says. What can't be
// read, for want of a right, is Stale if it was seen before, and tried again.
func (s *Session) WatchData(ctx context.Context, path string) <-chan Data {
	return subscribe(ctx, s, func(g *guarded) map[string]*shared[Data] { return g.dataWatches }, path, watchSpec[Data]{
		name: "data",
		look: func(t *client, epoch uint64, path string, done func(Data, bool, error)) {
			t.Read(epoch, path, true, func(a seam.Seen) { done(Data{Exists: a.Exists, Bytes: a.Data, Stat: Stat(a.Stat)}, a.Exists, a.Err) })
		},
		stale: func(d Data) Data {
			d.Stale = true
			return d
		},
		// Versions begin anew when a znode is deleted and made again. Transactions don't, but when
		// the servers have lost their data others get the same numbers.
		same: func(a, b Data) bool {
			return a.Exists == b.Exists && a.Stat.Mzxid == b.Stat.Mzxid && bytes.Equal(a.Bytes, b.Bytes)
		},
	})
}

// WatchChildren is a subscription to the names of a znode's children, its birth and its end, in
// everything else like [Session.WatchData].
func (s *Session) WatchChildren(ctx context.Context, path string) <-chan Children {
	return subscribe(ctx, s, func(g *guarded) map[string]*shared[Children] { return g.childWatches }, path, watchSpec[Children]{
		name: "children",
		look: func(t *client, epoch uint64, path string, done func(Children, bool, error)) {
			t.List(epoch, path, true, func(a seam.Listed) {
				missing := errors.Is(a.Err, ErrNoNode)
				if missing {
					a.Err = nil
				}
				done(Children{Exists: !missing, Names: a.Names, Stat: Stat(a.Stat)}, !missing, a.Err)
			})
		},
		stale: func(c Children) Children {
			c.Stale = true
			return c
		},
		same: func(a, b Children) bool {
			return a.Exists == b.Exists && a.Stat.Czxid == b.Stat.Czxid && a.Stat.Pzxid == b.Stat.Pzxid && slices.Equal(slices.Sorted(slices.Values(a.Names)), slices.Sorted(slices.Values(b.Names)))
		},
	})
}
