package zkconn

import (
	"slices"

	"github.com/troupe-go/troupe/internal/jute"
)

// watchTable is the set of armed watches, which have to be armed again on the next connection.
type watchTable map[watched]struct{}

type watched struct {
	kind watchKind
	path string
}

type watchKind int

const (
	watchData     watchKind = iota // of an existing znode
	watchExists                    // of a missing one
	watchChildren                  // the children of an existing one
	watchKinds
)

// arm adds the watch that a read has armed. A read of the data or the children of a missing znode
// arms none.
func (t watchTable) arm(r *request) {
	switch {
	case r.reply.Err == jute.OK && r.ask.Op == jute.OpGetChildren2:
		t[watched{watchChildren, r.ask.Path}] = struct{}{}
	case r.reply.Err == jute.OK:
		t[watched{watchData, r.ask.Path}] = struct{}{}
	case r.reply.Err == jute.NoNode && r.ask.Op == jute.OpExists:
		t[watched{watchExists, r.ask.Path}] = struct{}{}
	}
}

// fired removes the watches that an event disarms.
func (t watchTable) fired(ev jute.Event) {
	switch ev.Type {
	case jute.NodeCreated, jute.NodeDataChanged:
		delete(t, watched{watchData, ev.Path})
		delete(t, watched{watchExists, ev.Path})
	case jute.NodeChildrenChanged:
		delete(t, watched{watchChildren, ev.Path})
	case jute.NodeDeleted:
		for kind := range watchKinds {
			delete(t, watched{kind, ev.Path})
		}
	}
}

// remove is called when a request to remove watches is about to be sent. Whatever its outcome, they
// are not armed again.
func (t watchTable) remove(path string, kind int32) {
	for _, k := range watchesOf(kind) {
		delete(t, watched{k, path})
	}
}

func (t watchTable) has(path string, kind int32) bool {
	return slices.ContainsFunc(watchesOf(kind), func(k watchKind) bool {
		_, has := t[watched{k, path}]
		return has
	})
}

// watchesOf are the entries that belong to one of the server's kinds.
func watchesOf(kind int32) []watchKind {
	if kind == childWatches {
		return []watchKind{watchChildren}
	}
	return []watchKind{watchData, watchExists}
}

// watchBatch is the largest size of a setWatches request. The server handles one between two pings.
const watchBatch = 128 << 10

// requests are the setWatches requests that arm everything again. The server fires at once what has
// changed since the zxid.
func (t watchTable) requests(zxid int64, maxPacket int) []jute.Request {
	var asks []jute.Request
	batch := min(watchBatch, maxPacket/2)
	size := batch
	for w := range t {
		if size+4+len(w.path) > batch {
			asks = append(asks, jute.Request{Xid: jute.XidSetWatches, Op: jute.OpSetWatches, Zxid: zxid})
			size = 0
		}
		size += 4 + len(w.path)
		ask := &asks[len(asks)-1]
		switch w.kind {
		case watchData:
			ask.DataW = append(ask.DataW, w.path)
		case watchExists:
			ask.ExistW = append(ask.ExistW, w.path)
		case watchChildren:
			ask.ChildW = append(ask.ChildW, w.path)
		}
	}
	return asks
}
