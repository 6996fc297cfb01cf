package place

import "strings"

const (
	taken = "taken-"
	back  = "back-"
)

// Claim is what a claim's name says: it covers the items of its bucket from one place to another,
// all that were there when it was made. Its tag is its own alone, so that no claim ever has the
// name of another.
type Claim struct {
	From, To Place
	Tag      string
}

// Name is that of the claim's znode.
func (c Claim) Name() string { return taken + c.From.String() + "-" + c.To.String() + "-" + c.Tag }

// Covers tells whether the claim is on an item, unless that was given back.
func (c Claim) Covers(at Place) bool { return c.From.Compare(at) <= 0 && at.Compare(c.To) <= 0 }

// ParseClaim takes a claim's name apart; false if it is none.
func ParseClaim(name string) (Claim, bool) {
	rest, ok := strings.CutPrefix(name, taken)
	if !ok {
		return Claim{}, false
	}
	from, rest, ok := cutPlace(rest)
	if !ok {
		return Claim{}, false
	}
	to, tag, ok := cutPlace(rest)
	if !ok || tag == "" {
		return Claim{}, false
	}
	c := Claim{From: from, To: to, Tag: tag}
	return c, c.Name() == name
}

// cutPlace takes a place and a dash off the front.
func cutPlace(s string) (p Place, rest string, ok bool) {
	if s == "" {
		return Place{}, "", false
	}
	end := strings.IndexByte(s[1:], '-') + 1 // a dash that comes first is a sign
	if end == 0 {
		return Place{}, "", false
	}
	head, p, ok := parsePlace("-" + s[:end])
	return p, s[end+1:], ok && head == "-"
}

// Back is what the name of a mark says: an item that is covered by the claim with the tag was given
// back.
type Back struct {
	Tag string
	At  Place
}

// Name is that of the mark's znode.
func (b Back) Name() string { return back + b.At.String() + "-" + b.Tag }

// ParseBack takes a mark's name apart; false if it is none.
func ParseBack(name string) (Back, bool) {
	rest, ok := strings.CutPrefix(name, back)
	if !ok {
		return Back{}, false
	}
	at, tag, ok := cutPlace(rest)
	if !ok || tag == "" {
		return Back{}, false
	}
	b := Back{Tag: tag, At: at}
	return b, b.Name() == name
}

// Claims are those of a bucket.
type Claims struct {
	claims []Claim
	backs  map[Back]bool
}

// ClaimsIn are those in a listing.
func ClaimsIn(names []string) Claims {
	c := Claims{backs: make(map[Back]bool)}
	for _, name := range names {
		if claim, ok := ParseClaim(name); ok {
			c.claims = append(c.claims, claim)
		} else if b, ok := ParseBack(name); ok {
			c.backs[b] = true
		}
	}
	return c
}

// Len is how many there are.
func (c Claims) Len() int { return len(c.claims) }

// On tells whether an item is claimed.
func (c Claims) On(at Place) bool {
	for _, claim := range c.claims {
		if claim.Covers(at) && !c.backs[Back{Tag: claim.Tag, At: at}] {
			return true
		}
	}
	return false
}
