// What an outsider does, on a server in memory.

package run

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/test/chaos/internal/history"
	"github.com/troupe-go/troupe/zktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A downgraded writer keeps its token, and has another znode. A deletion by an outsider is recorded
// with the token: acts of the holder before it can know of that do not count.
func TestAStrikeIsRecordedWithTheTokenOfThePossession(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t)
	s, err := session.Open(t.Context(), server.Hosts(), session.WithDialer(server.Dialer()))
	require.NoError(t, err)
	l, err := lock.NewWrite(s, "/line")
	require.NoError(t, err)
	writer, err := l.Lock(t.Context())
	require.NoError(t, err)
	reader, err := writer.Downgrade(t.Context())
	require.NoError(t, err)

	folder := t.TempDir()
	recorder, err := history.Create(filepath.Join(folder, "world"+history.Suffix))
	require.NoError(t, err)
	w := &world{watcher: s, recorder: recorder}
	require.NoError(t, w.strike(t.Context(), "/line", reader.Path()))
	require.Error(t, w.strike(t.Context(), "/line", reader.Path()), "it is gone")
	require.NoError(t, recorder.Close())
	events, err := history.Load(folder)
	require.NoError(t, err)
	require.Len(t, events, 1)
	require.Equal(t, reader.Token(), events[0].Token)
	require.NoError(t, s.Close(t.Context()))
}
