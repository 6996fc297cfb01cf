package znode

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"io"
	"strconv"
	"strings"
)

// GUID makes a name unique, so that a znode whose creation was not confirmed can be found. It has
// Curator's form, a UUID with dashes.
type GUID string

const (
	protection = "_c_"
	dashed     = 36 // the length of a GUID with dashes
	plain      = 32 // without
)

// NewGUID makes a random one (version 4).
func NewGUID() GUID { return DrawGUID(rand.Reader) }

// DrawGUID is NewGUID with other random bytes. Reading them must not fail.
func DrawGUID(random io.Reader) GUID {
	var b [16]byte
	_, _ = random.Read(b[:]) // that of crypto aborts the program rather than fail
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	h := hex.EncodeToString(b[:])
	return GUID(h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:])
}

// Protect puts the GUID in front of a name: "_c_<guid>-<name>".
func Protect(g GUID, name string) string { return protection + string(g) + "-" + name }

// Protection takes the GUID off a name again. Curator's GUIDs have dashes, go-zookeeper's have
// none.
func Protection(name string) (g GUID, rest string, ok bool) {
	if body, found := strings.CutPrefix(name, protection); found {
		if g, rest, ok = cutGUID(body); ok {
			return g, rest, true
		}
	}
	return "", name, false
}

// cutGUID takes a GUID off a name, and the dash behind it.
func cutGUID(name string) (g GUID, rest string, ok bool) {
	for _, n := range [...]int{dashed, plain} {
		if len(name) > n && name[n] == '-' && isGUID(name[:n]) {
			return GUID(name[:n]), name[n+1:], true
		}
	}
	return "", name, false
}

func isGUID(s string) bool { // of one of these two lengths
	if len(s) != dashed {
		return allHex(s)
	}
	return s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-' &&
		allHex(s[:8]) && allHex(s[9:13]) && allHex(s[14:18]) && allHex(s[19:23]) && allHex(s[24:])
}

func allHex(s string) bool {
	for i := range len(s) {
		if !hexDigit[s[i]] {
			return false
		}
	}
	return true
}

// hexDigit is a table, since every name of a long listing is tested.
var hexDigit = func() (is [256]bool) {
	for _, c := range []byte("0123456789abcdefABCDEF") {
		is[c] = true
	}
	return is
}()

// Form is the form of a contender's name, which tells how its creator recognises it.
type Form int

// The forms that are written. Forms up to Page have a GUID in the name; the others are recognised
// by their owner and their data.
const (
	Dashed    Form = iota // _c_<guid>-<name>: Troupe, Curator
	Undashed              // _c_<guid without dashes>-<name>: go-zookeeper
	Bare                  // <guid without dashes><name>: kazoo
	Page                  // <guid>-<name>: ZooKeeper's recipe page
	OfSession             // <name><session id>-: ZooKeeper's WriteLock
	Plain                 // <name>: ZooKeeper's LeaderElectionSupport
	Alone                 // <name>, without a number behind it: one znode for all
)

// Named tells whether a contender of this form is recognised by its name.
func (f Form) Named() bool { return f <= Page }

// Head is the contender's name without its number.
func (f Form) Head(g GUID, session int64, name string) string {
	switch f {
	case Undashed:
		return protection + g.undashed() + "-" + name
	case Bare:
		return g.undashed() + name
	case Page:
		return string(g) + "-" + name
	case OfSession:
		return name + strconv.FormatInt(session, 10) + "-"
	case Plain, Alone:
		return name
	}
	return Protect(g, name)
}

// Data returns the data of a contender. If none are given and its name has no GUID, they are a
// GUID.
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

// Same tells whether a contender that was created with these data contains them still, also if it
// was asked to give up since.
func Same(created, found []byte) bool {
	return bytes.Equal(created, bytes.TrimPrefix(found, []byte(Unlock+"\n"))) || bytes.Equal(created, found)
}

func (g GUID) undashed() string { return strings.ReplaceAll(string(g), "-", "") }
