package machine

import (
	"fmt"
	"strings"
)

// List reads the names of a znode's children and, with Watch, arms a watch on them in the same
// request.
type List struct {
	Epoch uint64
	Ask   uint64
	Path  string
	Watch bool
}

// Read reads a znode and, with Watch, arms a watch on its data in the same request. With
// SameSession, if the znode is a contender of another instance on the same session, it is not read,
// but followed in the session without a request: see [Seen]. So SameSession is for a znode of which
// only the end matters.
type Read struct {
	Epoch       uint64
	Ask         uint64
	Path        string
	Watch       bool
	SameSession bool
}

// MultiRead does several reads in one request, without watches, in the order of its queries. The
// result of one is never older than those before it; other clients may write between two. A listing
// has the names and no Stat: a machine that needs the version of a znode that it lists reads it
// first. All answers are in memory at once, so many large ones need several requests.
type MultiRead struct {
	Epoch   uint64
	Ask     uint64
	Queries []Query
}

// Query is one of the reads of [MultiRead]: of a znode, or of the names of its children.
type Query struct {
	Path     string
	Children bool
}

// String is the query as the golden traces show it.
func (q Query) String() string {
	if q.Children {
		return "list " + q.Path
	}
	return "read " + q.Path
}

// Transact carries out all operations, in order, or none of them. It is sent once.
type Transact struct {
	Epoch uint64
	Ask   uint64
	Ops   []Op
}

// Ensure makes the missing znodes of a path: the znode itself as a container with Container, else
// as a persistent znode with Data, and those above it as containers. A znode that exists is not
// changed.
type Ensure struct {
	Epoch     uint64
	Ask       uint64
	Path      string
	Container bool
	Data      []byte
}

// Remove deletes a childless znode: it is repeated until ZooKeeper has confirmed that it is gone.
// [Removed] is the answer too where another instance of the session has a znode of that name now,
// which stays. A machine that recognises the answer by its path may leave Ask out.
type Remove struct {
	Epoch uint64
	Ask   uint64
	Path  string
}

// Unwatch says that the machine no longer needs the watch of this path, which a [Read] has armed or
// a pending one would arm. Its event may come all the same. Unwatch is not answered.
type Unwatch struct {
	Epoch uint64
	Path  string
}

// Wake asks for [Woke] after a pause: After milliseconds, or, if that is 0, the Try-th pause in a
// row of a jittered exponential backoff.
type Wake struct {
	Ask   uint64
	After int64
	Try   int
}

// Cancel takes a [Wake] back. Its [Woke] may come all the same.
type Cancel struct{ Ask uint64 }

// Stop ends the instance: with the error with which it failed, or nil after [Closing].
type Stop struct{ Err error }

// Op is one operation of a transaction.
type Op struct {
	Do         Verb
	Path       string
	Data       []byte // of Create and Set
	Version    int32  // of Check, Set and Delete; [Any] stands for any
	Ephemeral  bool   // of Create: it is deleted with the ZooKeeper session
	Sequential bool   // of Create: the server appends a number to the name
}

// Any is the Version of an operation that does not check it.
const Any int32 = -1

// Verb is the kind of an operation.
type Verb int

// The operations.
const (
	Check  Verb = iota + 1 // the transaction fails unless the znode exists and has the version
	Create                 // makes a znode; its parent has to exist
	Set                    // replaces the data, if the znode has the version
	Delete                 // deletes a childless znode, if it has the version
)

var verbs = [...]string{Check: "check", Create: "create", Set: "set", Delete: "delete"}

// String is the operation as the golden traces show it.
func (o Op) String() string {
	if o.Do < Check || o.Do > Delete {
		return "nothing"
	}
	s := verbs[o.Do] + " " + o.Path
	if o.Do != Create {
		if o.Version != Any {
			s += fmt.Sprintf(" v%d", o.Version)
		}
	} else {
		if o.Ephemeral {
			s += " ephemeral"
		}
		if o.Sequential {
			s += " sequential"
		}
	}
	if o.Do == Create || o.Do == Set {
		s += fmt.Sprintf(" %q", o.Data)
	}
	return s
}

// Stat is the metadata of a znode, as far as machines need them.
type Stat struct {
	Czxid    int64 // the transaction that created it
	Mzxid    int64 // the transaction that last changed its data
	Pzxid    int64 // the transaction that last added or removed a child
	Ctime    int64 // when it was created, in milliseconds of the server's clock
	Mtime    int64 // when its data were last changed
	Version  int32 // changes of its data
	Cversion int32 // changes of its children
	Owner    int64 // the ZooKeeper session that it ends with, 0 if none
	Children int32 // how many children it has
}

// String is the Stat as the golden traces show it: the fields that are not zero.
func (s Stat) String() string {
	var b strings.Builder
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"czxid", s.Czxid},
		{"mzxid", s.Mzxid},
		{"pzxid", s.Pzxid},
		{"ctime", s.Ctime},
		{"mtime", s.Mtime},
		{"version", int64(s.Version)},
		{"cversion", int64(s.Cversion)},
		{"owner", s.Owner},
		{"children", int64(s.Children)},
	} {
		if f.value != 0 {
			fmt.Fprintf(&b, " %s=%d", f.name, f.value)
		}
	}
	return "{" + strings.TrimPrefix(b.String(), " ") + "}"
}
