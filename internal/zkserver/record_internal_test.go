package zkserver

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver/tree"
)

// Whatever a record holds: no panic, and no more memory than it is large. What is read makes the
// same state again.
func FuzzRecord(f *testing.F) {
	ss := &session{id: 1 << 56, timeout: 1}
	changes := []tree.Change{
		{Kind: tree.Create, Path: "/a", Data: []byte("x"), ACL: jute.OpenACL(), Creations: 1},
		{Kind: tree.Create, Path: "/a/😀", ACL: []jute.ACL{{Perms: 1, Scheme: "digest", ID: "😀:x"}}, Owner: 1 << 56},
		{Kind: tree.SetData, Path: "/a", Version: 1},
		{Kind: tree.SetACL, Path: "/a", ACL: jute.OpenACL(), Version: 1},
		{Kind: tree.Count, Path: "/a", Creations: 7},
		{Kind: tree.Delete, Path: "/a/😀"},
	}
	f.Add(encodeTxn(nil, &txn{zxid: 9, time: 1, opens: ss, changes: changes}), encodeTxn(nil, &txn{zxid: 10, ends: ss.id}))
	m := newImage()
	m.zxid = 7
	m.sessions[ss.id] = ss.saved()
	var all [][]byte
	require.NoError(f, m.records(func(record []byte) error { all = append(all, append([]byte{}, record...)); return nil }))
	for i := range all {
		f.Add(all[0], all[i])
	}
	f.Fuzz(func(t *testing.T, one, two []byte) {
		m := newImage()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := m.add(one)
		if err == nil {
			err = m.add(two)
		}
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20+100*(len(one)+len(two))))
		if err != nil {
			return
		}
		again := newImage()
		require.NoError(t, m.records(again.add))
		require.Equal(t, m.tree.DataSize(), again.tree.DataSize())
		require.Equal(t, m.zxid, again.zxid)
		require.Equal(t, m.sessions, again.sessions)
	})
}
