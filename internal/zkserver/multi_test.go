package zkserver_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver"
)

func multi(ops ...jute.Request) jute.Request { return jute.Request{Op: jute.OpMulti, Ops: ops} }

func TestAMultiIsOneTransaction(t *testing.T) {
	world(t, zkserver.Config{Version: "3.8.0"}, func(t *testing.T, s *zkserver.Server) {
		c, watcher := join(t, s), join(t, s)
		c.create("/a", 0)
		watcher.must(jute.Request{Op: jute.OpAddWatch, Path: "/", Flags: 1})
		create2 := create("/a/c", 0)
		create2.Op = jute.OpCreate2
		p := c.must(multi(create("/a/b", jute.FlagSequential), create2, set("/a/c", "x"), jute.Request{Op: jute.OpCheck, Path: "/a/c", Version: 1}, remove("/a/b0000000000")))
		require.Len(t, p.Results, 5)
		require.Equal(t, "/a/b0000000000", p.Results[0].Path)
		require.Equal(t, "/a/c", p.Results[1].Path)
		require.Equal(t, p.Zxid, p.Results[2].Stat.Mzxid, "one zxid for all")
		require.Equal(t, jute.OpCreate, p.Results[1].Op, "without a stat, as on the real server")
		require.Equal(t, []string{"NodeCreated /a/b0000000000", "NodeCreated /a/c", "NodeDataChanged /a/c", "NodeDeleted /a/b0000000000"}, watcher.told())
	})
}

// One failure and nothing happens: those before it would have been fine, those behind it were not
// tried.
func TestAMultiFailsAsAWhole(t *testing.T) {
	world(t, zkserver.Config{}, func(t *testing.T, s *zkserver.Server) {
		c := join(t, s)
		before := c.create("/a", 0).Zxid
		tree := written(t, s)
		p := c.must(multi(create("/b", 0), set("/x", ""), create("/c", 0)))
		require.Equal(t, before+1, p.Zxid, "it uses up a zxid")
		require.Equal(t, []jute.Result{
			{Op: jute.OpError}, {Op: jute.OpError, Err: jute.NoNode}, {Op: jute.OpError, Err: jute.RuntimeInconsistency},
		}, p.Results)
		require.Equal(t, tree, written(t, s))
		require.Empty(t, c.must(multi()).Results)
		require.Equal(t, jute.MarshallingError, c.do(multi(create(jute.Null, 0))).Err)
	})
}

func TestAMultiReadHasAnOutcomeForEach(t *testing.T) {
	world(t, zkserver.Config{}, func(t *testing.T, s *zkserver.Server) {
		c := join(t, s)
		c.create("/a", 0)
		c.create("/a/b", 0)
		p := c.must(jute.Request{Op: jute.OpMultiRead, Ops: []jute.Request{
			{Op: jute.OpGetData, Path: "/a", Watch: true}, {Op: jute.OpGetChildren, Path: "/a"}, {Op: jute.OpGetData, Path: "/x"},
		}})
		require.Equal(t, "data", string(p.Results[0].Data))
		require.EqualValues(t, 1, p.Results[0].Stat.NumChildren)
		require.Equal(t, []string{"b"}, p.Results[1].Names)
		require.Equal(t, jute.NoNode, p.Results[2].Err)
		c.must(set("/a", "x"))
		require.Empty(t, c.told(), "they leave no watches")
	})
}
