package zkserver_test

// Watches: what package zktest does not hold against a real server, and what versions differ in.

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver"
)

// Before 3.9 a watch has the mode that it was set with last; since then a path's watches of
// different modes stand side by side.
func TestVersionsDifferInWatchesOnOnePath(t *testing.T) {
	everyVersion(t, func(t *testing.T, version string, s *zkserver.Server) {
		c := join(t, s)
		c.create("/a", 0)
		c.must(watch("/a", recursive))
		c.must(watch("/a", persistent))
		c.must(readAndWatch(jute.OpGetData, "/a"))
		c.must(set("/a", "1"))
		require.Equal(t, []string{"NodeDataChanged /a"}, c.told(), "once, however many modes")
		c.must(set("/a", "2"))
		c.create("/a/b", 0)
		if version < "3.9" {
			require.Equal(t, []string{"NodeChildrenChanged /a"}, c.told(), "the last mode of its data was to fire once, of its children persistent")
			return
		}
		require.Equal(t, []string{"NodeDataChanged /a", "NodeCreated /a/b", "NodeChildrenChanged /a"}, c.told())
		c.must(unwatch("/a", ofPersistent))
		c.must(set("/a", "3"))
		c.must(remove("/a/b"))
		require.Equal(t, []string{"NodeDataChanged /a", "NodeDeleted /a/b"}, c.told())
		c.must(unwatch("/a", ofRecursive))
		c.must(set("/a", "4"))
		require.Empty(t, c.told())
	})
}

// Before 3.9 a kind names tables, of all clients when they are looked for; since then the client's
// own watches of a mode.
func TestVersionsDifferInWhatAKindNames(t *testing.T) {
	everyVersion(t, func(t *testing.T, version string, s *zkserver.Server) {
		c, other := join(t, s), join(t, s)
		c.create("/a", 0)
		codes := func(c *client, of func(string, int32) jute.Request) (all []jute.Code) {
			for kind := int32(ofChildren); kind <= ofRecursive; kind++ {
				all = append(all, c.do(of("/a", kind)).Err)
			}
			return all
		}
		const yes, no, bad = jute.OK, jute.NoWatcher, jute.MarshallingError
		old := version < "3.9"
		either := func(before, since []jute.Code) []jute.Code {
			if old {
				return before
			}
			return since
		}
		c.must(readAndWatch(jute.OpGetData, "/a"))
		require.Equal(t, either([]jute.Code{no, yes, yes, bad, bad}, []jute.Code{no, yes, yes, no, no}), codes(c, check))
		require.Equal(t, either([]jute.Code{no, yes, yes, bad, bad}, []jute.Code{no, no, no, no, no}), codes(other, check), "another's")
		require.Equal(t, either([]jute.Code{no, no, no, bad, bad}, []jute.Code{no, no, no, no, no}), codes(other, unwatch), "only one's own can be taken back")
		c.must(unwatch("/a", ofData))
		c.must(watch("/a", persistent))
		require.Equal(t, either([]jute.Code{yes, yes, yes, bad, bad}, []jute.Code{no, no, yes, yes, no}), codes(c, check))
		require.Equal(t, either([]jute.Code{yes, yes, no, bad, bad}, []jute.Code{no, no, yes, no, no}), codes(c, unwatch))
		c.must(watch("/a", recursive))
		require.Equal(t, either([]jute.Code{yes, yes, yes, bad, bad}, []jute.Code{no, no, yes, no, yes}), codes(c, check))
		require.Equal(t, jute.MarshallingError, c.do(check("/a", 0)).Err)
		require.Equal(t, jute.MarshallingError, c.do(unwatch("/a", 6)).Err)
	})
}

// Since 3.9 an event says which transaction it tells of, unless it is told to a client that has
// come back.
func TestVersionsDifferInTheNumberOfAnEvent(t *testing.T) {
	everyVersion(t, func(t *testing.T, version string, s *zkserver.Server) {
		c, other := join(t, s), join(t, s)
		seen := other.create("/a", 0).Zxid
		c.must(readAndWatch(jute.OpGetData, "/a"))
		changed := other.must(set("/a", "1")).Zxid
		c.must(missed(seen, []string{"/a"}, []string{}, []string{}))
		require.Equal(t, []string{"NodeDataChanged /a", "NodeDataChanged /a"}, c.told())
		if version < "3.9" {
			changed = -1
		}
		require.Equal(t, []int64{changed, -1}, c.zxids)
	})
}

// Since 3.9.6 a client that comes back is told what it missed only of what it may read.
func TestVersionsDifferInWhatIsToldToThoseWhoComeBack(t *testing.T) {
	everyVersion(t, func(t *testing.T, version string, s *zkserver.Server) {
		c, other := join(t, s), join(t, s)
		other.must(guarded("/secret", jute.PermAll&^jute.PermRead))
		other.create("/a", 0)
		c.must(missed(0, []string{"/secret", "/a", "/gone"}, []string{"/secret"}, []string{"/secret"}))
		want := []string{"NodeDataChanged /secret", "NodeDataChanged /a", "NodeDeleted /gone", "NodeCreated /secret", "NodeChildrenChanged /secret"}
		if version == "3.9.6" {
			want = []string{"NodeDataChanged /a", "NodeDeleted /gone"}
		}
		require.Equal(t, want, c.told())
		other.must(set("/secret", "x"))
		require.Empty(t, c.told(), "no watch was set")
	})
}
