package tree

import (
	"net/netip"
	"strconv"
	"strings"
)

// parseNet reads what an ACL of scheme "ip" names: an address, or an address and how many of its
// bits count, as "10.0.0.0/8".
func parseNet(s string) (n netip.Prefix, ok bool) {
	host, size, cut := strings.Cut(s, "/")
	address, ok := parseAddress(host)
	bits := address.BitLen()
	if cut {
		var err error
		if bits, err = strconv.Atoi(size); err != nil {
			return n, false
		}
	}
	n = netip.PrefixFrom(address, bits)
	return n, ok && n.IsValid()
}

// parseAddress reads an address as the real server does, which is more lenient than package netip
// about numbers, and knows neither zones nor an IPv4 address in an IPv6 one.
func parseAddress(s string) (netip.Addr, bool) {
	if strings.Contains(s, ":") {
		address, err := netip.ParseAddr(s)
		return address, err == nil && !strings.ContainsAny(s, ".%")
	}
	parts := strings.Split(s, ".")
	var address [4]byte
	if len(parts) != len(address) {
		return netip.Addr{}, false
	}
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 || n > 255 {
			return netip.Addr{}, false
		}
		address[i] = byte(n)
	}
	return netip.AddrFrom4(address), true
}

// ipMatches reports whether an address is in a network.
func ipMatches(have, want string) bool {
	n, ok := parseNet(want)
	address, fine := parseAddress(have)
	return ok && fine && n.Contains(address)
}
