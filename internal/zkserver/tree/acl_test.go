package tree_test

// Whom an ACL lets do what, which ACLs and which paths there may be.

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver/tree"
)

func TestWhomAnACLAllows(t *testing.T) {
	t.Parallel()
	ip := jute.Identity{Scheme: "ip", ID: "127.0.0.1"}
	ip6 := jute.Identity{Scheme: "ip", ID: "0:0:0:0:0:0:0:1"}
	user := jute.Identity{Scheme: "digest", ID: "u:x"}
	for _, c := range []struct {
		name string
		acl  []jute.ACL
		ids  []jute.Identity
		want bool
	}{
		{"no ACL at all", nil, nil, true},
		{"everybody", jute.OpenACL(), nil, true},
		{"another permission", []jute.ACL{{Perms: jute.PermWrite, Scheme: "world", ID: "anyone"}}, nil, false},
		{"world, but somebody", []jute.ACL{{Perms: jute.PermAll, Scheme: "world", ID: "else"}}, nil, false},
		{"the user", []jute.ACL{{Perms: jute.PermAll, Scheme: "digest", ID: "u:x"}}, []jute.Identity{ip, user}, true},
		{"another user", []jute.ACL{{Perms: jute.PermAll, Scheme: "digest", ID: "v:x"}}, []jute.Identity{ip, user}, false},
		{"the address", []jute.ACL{{Perms: jute.PermAll, Scheme: "ip", ID: "127.0.0.1"}}, []jute.Identity{ip}, true},
		{"the net", []jute.ACL{{Perms: jute.PermAll, Scheme: "ip", ID: "127.1.2.3/8"}}, []jute.Identity{ip}, true},
		{"all nets", []jute.ACL{{Perms: jute.PermAll, Scheme: "ip", ID: "1.2.3.4/0"}}, []jute.Identity{ip}, true},
		{"another net", []jute.ACL{{Perms: jute.PermAll, Scheme: "ip", ID: "127.0.0.2/31"}}, []jute.Identity{ip}, false},
		{"another family", []jute.ACL{{Perms: jute.PermAll, Scheme: "ip", ID: "::/0"}}, []jute.Identity{ip}, false},
		{"an IPv6 address", []jute.ACL{{Perms: jute.PermAll, Scheme: "ip", ID: "::1"}}, []jute.Identity{ip6}, true},
		{"another one", []jute.ACL{{Perms: jute.PermAll, Scheme: "ip", ID: "::2"}}, []jute.Identity{ip6}, false},
		{"an IPv6 net", []jute.ACL{{Perms: jute.PermAll, Scheme: "ip", ID: "::ffff:0/111"}}, []jute.Identity{ip6}, false},
		{"its own", []jute.ACL{{Perms: jute.PermAll, Scheme: "ip", ID: "::ffff/112"}}, []jute.Identity{ip6}, true},
		{"super", []jute.ACL{{Perms: 0, Scheme: "digest", ID: "v:x"}}, []jute.Identity{{Scheme: tree.SuperScheme}}, true},
	} {
		require.Equal(t, c.want, tree.Allowed(c.acl, jute.PermRead, tree.NewWho(c.ids...)), c.name)
	}
}

func TestAnACLIsFixedOrRefused(t *testing.T) {
	t.Parallel()
	ids := []jute.Identity{{Scheme: "ip", ID: "127.0.0.1"}, {Scheme: "digest", ID: "u:x"}, {Scheme: "digest", ID: "v:y"}}
	var many []jute.ACL
	for i := range int32(30) {
		many = append(many, jute.ACL{Perms: i, Scheme: "auth"})
	}
	digest := jute.ACL{Perms: 1, Scheme: "digest", ID: "u:x"}
	for _, c := range []struct {
		name string
		acl  []jute.ACL
		ids  []jute.Identity
		want []jute.ACL
		code jute.Code
	}{
		{"open", jute.OpenACL(), nil, jute.OpenACL(), jute.OK},
		{"none", nil, nil, nil, jute.InvalidACL},
		{"duplicates", []jute.ACL{digest, digest}, nil, []jute.ACL{digest}, jute.OK},
		{"auth", []jute.ACL{{Perms: 3, Scheme: "auth", ID: "whatever"}}, ids, []jute.ACL{{Perms: 3, Scheme: "digest", ID: "u:x"}, {Perms: 3, Scheme: "digest", ID: "v:y"}}, jute.OK},
		{"auth without being anybody", []jute.ACL{{Perms: 3, Scheme: "auth"}}, ids[:1], nil, jute.InvalidACL},
		{"auth for more than there is room for", many, ids, nil, jute.InvalidACL},
		{"a digest of one part", []jute.ACL{{Scheme: "digest", ID: "u"}}, nil, nil, jute.InvalidACL},
		{"a digest of three parts", []jute.ACL{{Scheme: "digest", ID: "u:x:y"}}, nil, nil, jute.InvalidACL},
		{"an address", []jute.ACL{{Scheme: "ip", ID: "10.0.0.0/8"}}, nil, []jute.ACL{{Scheme: "ip", ID: "10.0.0.0/8"}}, jute.OK},
		{"too many bits", []jute.ACL{{Scheme: "ip", ID: "10.0.0.0/33"}}, nil, nil, jute.InvalidACL},
		{"not an address", []jute.ACL{{Scheme: "ip", ID: "10.0.0"}}, nil, nil, jute.InvalidACL},
		{"an unknown scheme", []jute.ACL{{Scheme: "sasl", ID: "u"}}, nil, nil, jute.InvalidACL},
		{"world, but somebody", []jute.ACL{{Scheme: "world", ID: "u"}}, nil, nil, jute.InvalidACL},
		{"null", []jute.ACL{{Scheme: "digest", ID: jute.Null}}, nil, nil, jute.MarshallingError},
	} {
		got, _, code := tree.Fix(c.acl, c.ids, 1000, false)
		require.Equal(t, c.code, code, c.name)
		require.Equal(t, c.want, got, c.name)
	}
}

// An address is what the real server takes for one: numbers with leading zeros, but no IPv4 address
// within an IPv6 one.
func TestAnAddressIsWhatTheRealServerTakesForOne(t *testing.T) {
	t.Parallel()
	const ok, no = jute.OK, jute.InvalidACL
	for id, want := range map[string][2]jute.Code{ // without IPv6 and with it
		"127.0.0.01": {ok, ok}, "1.2.3.4/0": {ok, ok}, "1.2.3.4/": {no, no}, "1.2.3.256": {no, no},
		"1.2.3.4.5": {no, no}, "": {no, no},
		"::": {no, ok}, "::1/128": {no, ok}, "::1/129": {no, no},
		"1:2:3:4:5:6:7:8": {no, ok}, "1:2:3:4:5:6:7::": {no, ok}, "fe80::/10": {no, ok},
		"1:2:3:4:5:6:7::8": {no, no}, "1:2:3": {no, no}, "1::2::3": {no, no},
		":::": {no, no}, "::12345": {no, no}, "::x": {no, no},
		"::ffff:1.2.3.4": {no, no}, "fe80::1%lo": {no, no},
	} {
		for i, six := range []bool{false, true} {
			_, _, code := tree.Fix([]jute.ACL{{Perms: 1, Scheme: "ip", ID: id}}, nil, 1000, six)
			require.Equal(t, want[i], code, "%q %v", id, six)
		}
	}
}

func TestWhichPathsAreValid(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"/": true, "/a": true, "/a/b": true, "/a.b/..c": true, "/ä": true, "/\ufffd": false, "": false, "a": false, "/a/": false, "//": false, "/a//b": false,
		"/.": false, "/a/..": false, "/a\x01": false, "/\x7f": false, "/\u009f": false, "/\u00a0": true, "/\ud7ff": true, "/\ue000": false, "/\uf8ff": false,
		"/\uf900": true, "/\uffef": true, "/\ufff0": false, "/😀": false,
	} {
		require.Equal(t, want, tree.Valid(path), "%q", path)
	}
}
