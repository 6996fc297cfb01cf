package zkserver_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver"
)

func TestASessionsEphemeralsAreListed(t *testing.T) {
	world(t, zkserver.Config{}, func(t *testing.T, s *zkserver.Server) {
		c, other := join(t, s), join(t, s)
		c.create("/a", 0)
		for _, path := range []string{"/z", "/a/2", "/a/1"} {
			c.create(path, jute.FlagEphemeral)
		}
		other.create("/a/0", jute.FlagEphemeral)
		for prefix, want := range map[string][]string{
			"": {"/z", "/a/2", "/a/1"}, "/": {"/z", "/a/2", "/a/1"}, "/a": {"/a/2", "/a/1"}, "/x": {}, jute.Null: {"/z", "/a/2", "/a/1"},
		} {
			require.Equal(t, want, c.must(jute.Request{Op: jute.OpGetEphemerals, Path: prefix}).Names, "%q", prefix)
		}
	})
}

func TestDescendantsAreCounted(t *testing.T) {
	world(t, zkserver.Config{}, func(t *testing.T, s *zkserver.Server) {
		c := join(t, s)
		for _, path := range []string{"/a", "/a/b", "/a/b/c", "/ab"} {
			c.create(path, 0)
		}
		for path, want := range map[string]int32{"/a": 2, "/a/b/c": 0, "/": 7} {
			require.Equal(t, want, c.must(jute.Request{Op: jute.OpCountChildren, Path: path}).Count, path)
		}
		require.Equal(t, jute.NoNode, c.do(jute.Request{Op: jute.OpCountChildren, Path: "/x"}).Err)
	})
}

func TestWhoAmI(t *testing.T) {
	world(t, zkserver.Config{}, func(t *testing.T, s *zkserver.Server) {
		c := join(t, s)
		c.auth("digest", "bob:secret")
		want := []jute.Identity{{Scheme: "ip", ID: "127.0.0.1"}, {Scheme: "digest", ID: "bob"}} // as they came
		require.Equal(t, want, c.must(jute.Request{Op: jute.OpWhoAmI}).Identity)
	})
}
