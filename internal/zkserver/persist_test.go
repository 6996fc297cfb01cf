package zkserver_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/internal/zkserver"
	"github.com/troupe-go/troupe/internal/zkserver/txlog"
)

// state is what has to survive: everything but the zxid, which goes on in a higher epoch, and who
// is connected.
func state(s *zkserver.Server) string {
	_, rest, _ := strings.Cut(s.Dump(), ",")
	return strings.ReplaceAll(rest, "server=0", "server=-1")
}

// A folder has, field for field, what the server had, from its log, from a snapshot, and from both;
// also that it had been loaded from a file.
func TestAFolderHasEverything(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, zkserver.Config{Data: dir, Tree: strings.NewReader(planted), Rotate: 1})
	history(t, s)
	for round := range 5 {
		want := state(s)
		require.NoError(t, s.Close())
		next := start(t, zkserver.Config{Data: dir, Tree: strings.NewReader("/other: {}"), Rotate: int64(1 + round*300)})
		require.Equal(t, want, state(next), "the folder's own counts, not the file's")
		require.Contains(t, next.Dump(), fmt.Sprintf("zxid 0x%x00000000,", round+1), "a higher epoch")
		s = next
		require.NoError(t, s.CreateZnode(fmt.Sprintf("/round/%d", round), []byte("x")))
		require.NoError(t, s.SetZnode("/app", fmt.Append(nil, round)))
		require.NoError(t, s.Load([]byte("/app/jobs: {sequence: 5}")))
	}
	_, err := zkserver.New(zkserver.Config{Data: dir})
	require.ErrorIs(t, err, txlog.ErrInUse)
}

// What many sessions do at random is there again after each of many restarts, snapshots in between.
func TestAFolderHasWhatRandomRequestsLeft(t *testing.T) {
	t.Parallel()
	dir, seed := t.TempDir(), tier.Seed(t.Name())
	tier.Again(t, seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	want := ""
	for range 8 {
		s := start(t, zkserver.Config{Data: dir, Rotate: 2000})
		if want != "" {
			require.Equal(t, want, state(s))
		}
		conns := make([]net.Conn, 3)
		for i := range conns {
			conns[i] = ready(t, s)
		}
		for i := range 200 {
			path := fmt.Sprintf("/%d", rnd.IntN(5))
			if rnd.IntN(2) == 0 {
				path += fmt.Sprintf("/%d", rnd.IntN(5))
			}
			q := jute.Request{Xid: int32(i + 1), Path: path, Data: []byte(path), ACL: jute.OpenACL(), TTL: -1, Version: -1}
			q.Op = []jute.Op{jute.OpCreate, jute.OpCreate, jute.OpSetData, jute.OpDelete, jute.OpSetACL}[rnd.IntN(5)]
			if q.Op == jute.OpCreate {
				q.Flags = int32(rnd.IntN(4))
			}
			conn := conns[rnd.IntN(len(conns))]
			_, err := conn.Write(request(q))
			require.NoError(t, err)
			answer(t, conn, q.Op)
		}
		_, err := conns[0].Write(request(jute.Request{Xid: 999, Op: jute.OpCloseSession}))
		require.NoError(t, err)
		answer(t, conns[0], jute.OpCloseSession)
		want = state(s)
		require.NoError(t, s.Close())
	}
}

// A disk that fails: no answer any more, and the server says so.
func TestADiskThatFailsStopsTheServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, zkserver.Config{Data: dir, Rotate: 1})
	conn := ready(t, s)
	require.NoError(t, os.RemoveAll(dir)) // the next log can't be begun
	var err error
	for i := 0; err == nil; i++ {
		if _, err = conn.Write(request(jute.Request{Xid: int32(i), Op: jute.OpCreate, Path: fmt.Sprintf("/%d", i), ACL: jute.OpenACL()})); err == nil {
			_, err = conn.Read(make([]byte, 1<<10))
		}
		require.Less(t, i, 1000)
	}
	<-s.Failed()
	require.ErrorIs(t, s.Err(), os.ErrNotExist)
	require.ErrorIs(t, s.Close(), os.ErrNotExist)
}

func TestAFolderThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := zkserver.New(zkserver.Config{Data: file})
	require.ErrorContains(t, err, file)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "snapshot.0000000000000001"), []byte("something else altogether"), 0o600))
	_, err = zkserver.New(zkserver.Config{Data: dir})
	require.ErrorContains(t, err, "is damaged")
}
