package znode

import (
	"bytes"
	"strconv"
	"strings"
)

// Form is how it can be told, from a contender's name, who made it.
type Form int

// The forms that are written. Those up to Bare have a GUID in the name; the others are recognised
// by who owns them and by their data.
const (
	Dashed    Form = iota // _c_<guid>-<name>: Troupe, Curator
	Undashed              // _c_<guid without dashes>-<name>: go-zookeeper
	Bare                  // <guid without dashes><name>: kazoo
	OfSession             // <name><session id>-: ZooKeeper's WriteLock
	Plain                 // <name>: ZooKeeper's LeaderElectionSupport
	Alone                 // <name>, without a number behind it: one znode for all
)

// Named tells whether a contender of this form is recognised by its name.
func (f Form) Named() bool { return f <= Bare }

// Head is what the contender's name is, but for its number.
func (f Form) Head(g GUID, session int64, name string) string {
	switch f {
	case Undashed:
		return protection + g.undashed() + "-" + name
	case Bare:
		return g.undashed() + name
	case OfSession:
		return name + strconv.FormatInt(session, 10) + "-"
	case Plain, Alone:
		return name
	}
	return Protect(g, name)
}

// Data are what a contender that was given none contains: a GUID, where the name has none.
func (f Form) Data(g GUID, given []byte) []byte {
	if f.Named() || len(given) > 0 {
		return given
	}
	return []byte(g)
}

// Fits tells whether a child may be the contender whose name has this head. In a form that is Named
// it is.
func (f Form) Fits(head, child string) bool {
	rest, ok := strings.CutPrefix(child, head)
	switch {
	case f == Alone:
		return ok && rest == ""
	case !ok:
		return false
	}
	number, _, ok := Sequence(child)
	return ok && number == head
}

// Same tells whether a contender that was created with these data contains them still, whether or
// not somebody asked it to give up since.
func Same(created, found []byte) bool {
	return bytes.Equal(created, bytes.TrimPrefix(found, []byte(Unlock+"\n"))) || bytes.Equal(created, found)
}

func (g GUID) undashed() string { return strings.ReplaceAll(string(g), "-", "") }
