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
	body, ok := strings.CutPrefix(name, protection)
	if !ok {
		return "", name, false
	}
	for _, n := range [...]int{dashed, plain} {
		if len(body) > n && body[n] == '-' && isGUID(body[:n]) {
			return GUID(body[:n]), body[n+1:], true
		}
	}
	return "", name, false
}

func isGUID(s string) bool {
	for i := range len(s) {
		c := s[i]
		dash := len(s) == dashed && (i == 8 || i == 13 || i == 18 || i == 23)
		if dash != (c == '-') || !dash && !isHex(c) {
			return false
		}
	}
	return true
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }
