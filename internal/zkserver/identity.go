package zkserver

import (
	"unicode/utf16"

	"github.com/troupe-go/troupe/internal/jute"
)

// hashOrder puts a connection's identities, given as they came, into the order of the real server,
// which keeps them in Java's ConcurrentHashMap. It shows in the answer to whoAmI and in the ACL
// that "auth" stands for. (Not followed: a bin of the table with eight or more, which Java turns
// into a tree.)
func hashOrder(came []jute.Identity) []jute.Identity {
	bins := make([][]jute.Identity, 16)
	for i, id := range came {
		b := bin(id, len(bins))
		bins[b] = append(bins[b], id)
		if count := i + 1; count >= len(bins)*3/4 {
			bins = grown(bins)
		}
	}
	all := make([]jute.Identity, 0, len(came))
	for _, b := range bins {
		all = append(all, b...)
	}
	return all
}

// grown is the table of twice the size. Java moves the tail of a bin that stays together as it is,
// and puts the others, one by one, in front of it.
func grown(bins [][]jute.Identity) [][]jute.Identity {
	wider := make([][]jute.Identity, 2*len(bins))
	for _, b := range bins {
		tail := len(b)
		for tail > 0 && bin(b[tail-1], len(wider)) == bin(b[len(b)-1], len(wider)) {
			tail--
		}
		if tail < len(b) {
			to := bin(b[tail], len(wider))
			wider[to] = append(wider[to], b[tail:]...)
		}
		for _, id := range b[:tail] {
			to := bin(id, len(wider))
			wider[to] = append([]jute.Identity{id}, wider[to]...)
		}
	}
	return wider
}

func bin(id jute.Identity, size int) int {
	h := uint32(37*(37*17+stringHash(id.Scheme)) + stringHash(id.ID))
	return int((h ^ h>>16) & uint32(size-1))
}

// stringHash is Java's hash of a string.
func stringHash(s string) (h int32) {
	for _, unit := range utf16.Encode([]rune(s)) {
		h = 31*h + int32(unit)
	}
	return h
}
