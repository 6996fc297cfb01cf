package zkserver_test

import (
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver"
	"github.com/troupe-go/troupe/internal/zkserver/tree"
)

// BenchmarkZnodes tells what a znode of 100 bytes costs, a million of them at a time.
func BenchmarkZnodes(b *testing.B) {
	const znodes = 1_000_000
	for b.Loop() {
		before := heap()
		t := tree.New()
		for i := range int64(znodes) {
			path := fmt.Sprintf("/a-%09d", i)
			c, code := t.Prepare(tree.Caller{}, &jute.Request{Op: jute.OpCreate, Path: path, Data: make([]byte, 100), ACL: jute.OpenACL(), TTL: -1})
			if code != jute.OK {
				b.Fatal(code)
			}
			t.Apply(&c, i, i)
		}
		b.ReportMetric(float64(heap()-before)/znodes, "B/znode")
		require.Equal(b, znodes+4, t.Len())
	}
}

// BenchmarkSessions tells what a connected session costs, ten thousand of them at a time.
func BenchmarkSessions(b *testing.B) {
	const sessions = 10_000
	for b.Loop() {
		before := heap()
		s, err := zkserver.New(zkserver.Config{})
		require.NoError(b, err)
		for range sessions {
			conn, err := s.Dial(b.Context(), "tcp", s.Front(0).Name())
			require.NoError(b, err)
			_, err = conn.Write(hello())
			require.NoError(b, err)
			_, err = io.ReadFull(conn, make([]byte, 41))
			require.NoError(b, err)
		}
		b.ReportMetric(float64(heap()-before)/sessions, "B/session")
		require.Len(b, s.Sessions(), sessions)
		require.NoError(b, s.Close())
	}
}
