package tree

import (
	"bytes"
	"strconv"
	"strings"
)

// network is what an ACL of scheme "ip" names: the addresses that begin with the same bits.
type network struct {
	address []byte // 4 bytes or 16
	bits    int
}

// parseNet reads an address, or an address and how many of its bits count, as "10.0.0.0/8".
func parseNet(s string) (n network, ok bool) {
	host, size, cut := strings.Cut(s, "/")
	if n.address = parseAddress(host); n.address == nil {
		return network{}, false
	}
	n.bits = 8 * len(n.address)
	if cut {
		bits, err := strconv.Atoi(size)
		if err != nil || bits < 0 || bits > n.bits {
			return network{}, false
		}
		n.bits = bits
	}
	return n, true
}

// parseAddress reads an address as the real server does, which is more lenient than package netip
// about numbers, and knows no IPv4 address in an IPv6 one; nil if it is none.
func parseAddress(s string) []byte {
	if strings.Contains(s, ":") {
		return parseIPv6(s)
	}
	parts := strings.Split(s, ".")
	if len(parts) != 4 {
		return nil
	}
	address := make([]byte, 4)
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 || n > 255 {
			return nil
		}
		address[i] = byte(n)
	}
	return address
}

func parseIPv6(s string) []byte {
	const size = 16
	head, tail, gap := strings.Cut(s, "::")
	before, after := segments(head), segments(tail)
	switch {
	case !gap && len(before) != size/2, gap && len(before)+len(after) >= size/2, strings.Contains(tail, "::"):
		return nil
	}
	address := make([]byte, size)
	if !fill(address, before) || !fill(address[size-2*len(after):], after) {
		return nil
	}
	return address
}

func segments(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ":")
}

func fill(address []byte, segments []string) bool {
	for i, segment := range segments {
		n, err := strconv.ParseInt(segment, 16, 32)
		if err != nil || len(segment) > 4 {
			return false
		}
		address[2*i], address[2*i+1] = byte(n>>8), byte(n)
	}
	return true
}

// ipMatches reports whether an address is in a network.
func ipMatches(have, want string) bool {
	n, ok := parseNet(want)
	if !ok {
		return false
	}
	address := parseAddress(have)
	return len(address) == len(n.address) && bytes.Equal(masked(address, n.bits), masked(n.address, n.bits))
}

// masked leaves the first bits of an address.
func masked(address []byte, bits int) []byte {
	left := bytes.Clone(address)
	for i := range left {
		left[i] &= ^byte(0) << (8 - min(max(bits-8*i, 0), 8))
	}
	return left
}
