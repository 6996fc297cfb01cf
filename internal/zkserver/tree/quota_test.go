package tree_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
)

func data(path string) *jute.Request {
	q := create(path, 0)
	q.Data = []byte("four")
	return q
}

func TestQuotasAreCounted(t *testing.T) {
	t.Parallel()
	w := newWorld()
	account := func() string { return string(w.Get("/zookeeper/quota/a/zookeeper_stats").Data()) }
	for _, path := range []string{"/a", "/a/b", "/zookeeper/quota/a", "/zookeeper/quota/a/zookeeper_limits", "/zookeeper/quota/a/zookeeper_stats"} {
		w.must(t, data(path))
	}
	require.Equal(t, "count=2,bytes=8", account(), "what is there when it begins: two znodes of four bytes")
	w.must(t, data("/a/c"))
	require.Equal(t, "count=3,bytes=12", account())
	w.must(t, &jute.Request{Op: jute.OpSetData, Path: "/a/c", Data: []byte("longer"), Version: -1})
	require.Equal(t, "count=3,bytes=14", account())
	w.must(t, &jute.Request{Op: jute.OpDelete, Path: "/a/c", Version: -1})
	require.Equal(t, "count=2,bytes=8", account())
	require.Zero(t, w.Get("/zookeeper/quota/a/zookeeper_stats").Stat().Version, "nobody has written it")
	w.must(t, data("/ab"))
	require.Equal(t, "count=2,bytes=8", account(), "another path")

	copied := w.Clone()
	w.must(t, &jute.Request{Op: jute.OpDelete, Path: "/zookeeper/quota/a/zookeeper_limits", Version: -1})
	w.must(t, data("/a/d"))
	require.Equal(t, "count=2,bytes=8", account(), "the quota is gone")
	w.Tree = copied
	w.must(t, data("/a/d"))
	require.Equal(t, "count=3,bytes=12", account(), "and in the copy it is not")
	w.must(t, &jute.Request{Op: jute.OpSetData, Path: "/zookeeper/quota/a/zookeeper_stats", Data: []byte("nonsense"), Version: -1})
	w.must(t, data("/a/e"))
	require.Equal(t, "nonsense", account(), "what is no account is left alone")
	w.must(t, &jute.Request{Op: jute.OpSetData, Path: "/zookeeper/quota/a/zookeeper_stats", Data: []byte("count=1,bytes=2=;x=3"), Version: -1})
	w.must(t, data("/a/f"))
	require.Equal(t, "count=2,bytes=6=;x=3", account())
}
