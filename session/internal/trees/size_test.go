package trees_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/session/internal/trees"
)

// A tree takes at most one and a half times its data, its names, and 128 bytes a znode; the next
// one shares what is the same.
func TestTheSizeOfATree(t *testing.T) { //nolint:paralleltest // it measures memory
	const each, size = 100, 100
	heap := func() int64 {
		var s runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&s)
		return int64(s.HeapAlloc)
	}
	zxid := int64(1)
	answer := func(m *trees.Machine, r trees.Read) {
		zxid++
		res := jute.Reply{Zxid: zxid}
		if r.Op == jute.OpGetData {
			res.Data = make([]byte, size)
			res.Stat = jute.Stat{Czxid: 1, Mzxid: zxid}
			if len(r.Path) < 8 {
				res.Stat.NumChildren = each
			}
		} else {
			for i := range each {
				res.Names = append(res.Names, fmt.Sprintf("%07d", i))
			}
		}
		m.Answer(r, &res, nil)
	}
	before := heap()
	m := trees.New(0, 100_000, false)
	m.Resume(nil)
	m.Probed()
	next := func() (reads []trees.Read) {
		reads, _, _ = m.Next(100)
		return reads
	}
	for reads := next(); len(reads) > 0; reads = next() {
		for _, r := range reads {
			answer(m, r)
		}
	}
	tree, _, _ := m.Due(time.Now())
	require.NotNil(t, tree)
	one := heap() - before
	nodes := int64(1 + each + each*each)
	require.Less(t, one, nodes*(size+7+128)*3/2)
	for range 10 {
		m.Event(jute.NodeDataChanged, "0000042/0000042")
		answer(m, next()[0])
		now, _, _ := m.Due(time.Now())
		require.NotNil(t, now)
		for path := range trees.Changed(tree, now) {
			require.Equal(t, "0000042/0000042", path)
		}
	}
	require.Less(t, heap()-before-one, one/20, "two trees")
	runtime.KeepAlive(m)
	runtime.KeepAlive(tree)
}
