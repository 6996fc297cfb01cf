package tree

import (
	"strings"

	"github.com/troupe-go/troupe/internal/jute"
)

// SuperScheme is the scheme of the identity that may do everything.
const SuperScheme = "super"

// Allowed reports whether an ACL gives one of the identities a permission. An empty ACL gives
// everything to every client.
func Allowed(acl []jute.ACL, perm int32, who *Who) bool {
	if len(acl) == 0 || who.mayAll() {
		return true
	}
	for i := range acl {
		if acl[i].Perms&perm == 0 {
			continue
		}
		if acl[i].Scheme == "world" && acl[i].ID == "anyone" {
			return true
		}
		if who.matches(acl[i].Scheme, acl[i].ID) {
			return true
		}
	}
	return false
}

// Fix turns the ACL of a request into the one to be stored: duplicates removed, "auth" replaced by
// who the caller is. One that takes more room than there is, written out, is refused: no packet
// would hold it. size is what it takes. six allows IPv6 addresses.
func Fix(acl []jute.ACL, ids []jute.Identity, room int, six bool) (fixed []jute.ACL, size int, code jute.Code) {
	if len(acl) == 1 && acl[0] == openACL[0] {
		return openACL, 0, jute.OK
	}
	const head = 12 // bytes of an entry beside its texts: three numbers of 4
	seen := make(map[jute.ACL]bool)
	for _, a := range acl {
		if seen[a] {
			continue
		}
		seen[a] = true
		before := len(fixed)
		switch { // an entry that comes to nothing is refused below
		case a.ID == jute.Null && (a.Scheme == "world" || a.Scheme == "digest" || a.Scheme == "ip"):
			return nil, 0, jute.MarshallingError
		case a.Scheme == "auth":
			for i := 0; i < len(ids) && size <= room; i++ {
				if id := ids[i]; id.Scheme == "digest" {
					fixed = append(fixed, jute.ACL{Perms: a.Perms, Scheme: id.Scheme, ID: id.ID})
					size += head + len(id.Scheme) + len(id.ID)
				}
			}
		case a.Scheme == "world" && a.ID == "anyone" || validID(a.Scheme, a.ID, six):
			fixed = append(fixed, a)
			size += head + len(a.Scheme) + len(a.ID)
		}
		if len(fixed) == before || size > room {
			return nil, 0, jute.InvalidACL
		}
	}
	if len(fixed) == 0 {
		return nil, 0, jute.InvalidACL
	}
	return fixed, size, jute.OK
}

func validID(scheme, id string, six bool) bool {
	switch scheme {
	case "digest":
		// What Java's split(":") makes two parts of: trailing empty parts don't count.
		parts := strings.Split(strings.TrimRight(id, ":"), ":")
		return len(parts) == 2
	case "ip":
		n, ok := parseNet(id)
		return ok && (six || n.Addr().Is4())
	}
	return false
}

// Who is the set of a caller's identities. To look one up costs the same however many there are: a
// client can have any number.
type Who struct {
	ids       []jute.Identity // as they came
	known     map[jute.Identity]struct{}
	addresses []string
	super     bool
}

// NewWho is who has these identities.
func NewWho(ids ...jute.Identity) *Who {
	w := &Who{known: make(map[jute.Identity]struct{})}
	for _, id := range ids {
		w.Add(id)
	}
	return w
}

// Add adds an identity, unless it is there.
func (w *Who) Add(id jute.Identity) {
	if _, there := w.known[id]; there {
		return
	}
	w.known[id] = struct{}{}
	w.ids = append(w.ids, id)
	switch id.Scheme {
	case SuperScheme:
		w.super = true
	case "ip":
		w.addresses = append(w.addresses, id.ID)
	}
}

// IDs are the identities, in the order in which they came.
func (w *Who) IDs() []jute.Identity {
	if w == nil {
		return nil
	}
	return w.ids
}

func (w *Who) mayAll() bool { return w != nil && w.super }

func (w *Who) matches(scheme, want string) bool {
	if w == nil {
		return false
	}
	if scheme != "ip" {
		_, there := w.known[jute.Identity{Scheme: scheme, ID: want}]
		return there
	}
	for _, have := range w.addresses {
		if ipMatches(have, want) {
			return true
		}
	}
	return false
}
