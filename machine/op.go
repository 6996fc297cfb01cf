package machine

import (
	"fmt"
	"strings"
)

// Op is one operation of a transaction.
type Op struct {
	Do         Verb
	Path       string
	Data       []byte // of Create and Set
	Version    int32  // of Check, Set and Delete; [Any] stands for any
	Ephemeral  bool   // of Create: gone with the ZooKeeper session, at the latest with the epoch
	Sequential bool   // of Create: the server appends a number to the name
}

// Any is the version of a znode that may have whichever.
const Any int32 = -1

// Verb is what an operation does.
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

// Stat is what ZooKeeper keeps about a znode beside its data, as far as machines decide by it.
type Stat struct {
	Czxid    int64 // the transaction that created it
	Mzxid    int64 // the transaction that last changed its data
	Pzxid    int64 // the transaction that last added or removed a child
	Ctime    int64 // when it was created, in milliseconds of the server's clock
	Mtime    int64 // when its data were last changed
	Version  int32 // changes of its data
	Cversion int32 // changes of its children
	Owner    int64 // the ZooKeeper session that it ends with, 0 if none
	Children int32 // how many it has
}

// String is the Stat as the golden traces show it: what is not zero.
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
