package zkserver_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver"
)

// A client that has come back sets its watches again, with the last zxid that it has seen: what it
// missed is told at once, in the order of the lists, and the rest is armed, once for those that
// fire once.
func TestSetWatches(t *testing.T) {
	world(t, zkserver.Config{}, func(t *testing.T, s *zkserver.Server) {
		c, other := join(t, s), join(t, s)
		var seen int64
		for _, path := range []string{"/same", "/changed", "/deleted", "/parent"} {
			seen = other.create(path, 0).Zxid
		}
		other.must(set("/changed", "x"))
		other.must(remove("/deleted"))
		other.create("/parent/child", 0)
		other.create("/created", 0)
		c.must(jute.Request{
			Op: jute.OpSetWatches2, Xid: jute.XidSetWatches, Zxid: seen,
			DataW: []string{"/same", "/changed", "/deleted"}, ExistW: []string{"/created", "/missing"}, ChildW: []string{"/same", "/parent", "/deleted"},
			PersistW: []string{"/often"}, RecursW: []string{"/below"},
		})
		require.Equal(t, []string{
			"NodeDataChanged /changed", "NodeDeleted /deleted", "NodeCreated /created", "NodeChildrenChanged /parent", "NodeDeleted /deleted",
		}, c.told())
		for range 2 {
			other.must(set("/same", "x"))
		}
		other.create("/missing", 0)
		other.create("/often", 0)
		other.must(set("/often", "x"))
		other.create("/below", 0)
		other.create("/below/that", 0)
		require.Equal(t, []string{
			"NodeDataChanged /same", "NodeCreated /missing", "NodeCreated /often", "NodeDataChanged /often", "NodeCreated /below", "NodeCreated /below/that",
		}, c.told())
		p := c.do(jute.Request{Op: jute.OpSetWatches, Xid: jute.XidSetWatches, DataW: []string{jute.Null}})
		require.Equal(t, jute.MarshallingError, p.Err)
	})
}
