package tree

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-go/troupe/internal/jute"
)

// SuperScheme is the scheme of the identity that may do everything.
const SuperScheme = "super"

// Allowed reports whether an ACL gives one of the identities a permission. An empty ACL gives everything to everybody.
func Allowed(acl []jute.ACL, perm int32, ids []jute.Identity) bool {
	if len(acl) == 0 {
		return true
	}
	for _, id := range ids {
		if id.Scheme == SuperScheme {
			return true
		}
	}
	for i := range acl {
		if acl[i].Perms&perm == 0 {
			continue
		}
		if acl[i].Scheme == "world" && acl[i].ID == "anyone" {
			return true
		}
		for _, id := range ids {
			if id.Scheme == acl[i].Scheme && matches(id, acl[i].ID) {
				return true
			}
		}
	}
	return false
}

func matches(id jute.Identity, want string) bool {
	if id.Scheme == "ip" {
		return ipMatches(id.ID, want)
	}
	return id.ID == want
}

// Fix turns the ACL of a request into the one to be stored: duplicates removed, "auth" replaced by who the caller is.
func Fix(acl []jute.ACL, ids []jute.Identity) ([]jute.ACL, jute.Code) {
	if len(acl) == 1 && acl[0] == openACL[0] {
		return openACL, jute.OK
	}
	var fixed []jute.ACL
	for i, a := range acl {
		if slices.Contains(acl[:i], a) {
			continue
		}
		switch {
		case a.ID == jute.Null && (a.Scheme == "world" || a.Scheme == "digest" || a.Scheme == "ip"):
			return nil, jute.MarshallingError
		case a.Scheme == "world" && a.ID == "anyone":
			fixed = append(fixed, a)
		case a.Scheme == "auth":
			before := len(fixed)
			for _, id := range ids {
				if id.Scheme == "digest" {
					fixed = append(fixed, jute.ACL{Perms: a.Perms, Scheme: id.Scheme, ID: id.ID})
				}
			}
			if len(fixed) == before {
				return nil, jute.InvalidACL
			}
		case validID(a.Scheme, a.ID):
			fixed = append(fixed, a)
		default:
			return nil, jute.InvalidACL
		}
	}
	if len(fixed) == 0 {
		return nil, jute.InvalidACL
	}
	return fixed, jute.OK
}

func validID(scheme, id string) bool {
	switch scheme {
	case "digest":
		// What Java's split(":") makes two parts of: trailing empty parts don't count.
		parts := strings.Split(strings.TrimRight(id, ":"), ":")
		return len(parts) == 2
	case "ip":
		_, _, ok := parseNet(id)
		return ok
	}
	return false
}

// parseNet reads "a.b.c.d" or "a.b.c.d/bits".
func parseNet(s string) (addr uint32, bits int, ok bool) {
	host, size, cut := strings.Cut(s, "/")
	ip, err := netip.ParseAddr(host)
	if err != nil || !ip.Is4() {
		return 0, 0, false
	}
	bits = 32
	if cut {
		if bits, err = strconv.Atoi(size); err != nil || bits < 0 || bits > 32 {
			return 0, 0, false
		}
	}
	four := ip.As4()
	return binary.BigEndian.Uint32(four[:]), bits, true
}

func ipMatches(have, want string) bool {
	a, _, ok := parseNet(have)
	b, bits, fine := parseNet(want)
	if !ok || !fine {
		return false
	}
	return bits == 0 || (a^b)>>(32-bits) == 0
}
