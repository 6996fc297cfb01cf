package znode

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
)

// GUID makes a name unique, so that a znode whose creation was not confirmed can be found. It has
// Curator's form, a UUID with dashes.
type GUID string

const (
	protection = "_c_"
	dashed     = 36
	plain      = 32
)

// NewGUID makes a random one (version 4).
func NewGUID() GUID {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: it aborts the program rather
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

func isGUID(s string) bool {
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
