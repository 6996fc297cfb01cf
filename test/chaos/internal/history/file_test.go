// Writing and reading histories.

package history_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/test/chaos/internal/history"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWhatIsWrittenIsReadInTheOrderOfTime(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, at := range map[string]int64{"a": 5, "b": 3} {
		w, err := history.Create(filepath.Join(folder, name+history.Suffix))
		require.NoError(t, err)
		w.Write(history.Event{At: at, Kind: history.Act, Token: 7})
		require.NoError(t, w.Close())
	}
	events, err := history.Load(folder)
	require.NoError(t, err)
	require.Equal(t, []history.Event{
		{At: 3, Kind: history.Act, Token: 7, Worker: "b"},
		{At: 5, Kind: history.Act, Token: 7, Worker: "a"},
	}, events)
}

func TestWhatIsWrittenSince(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	w, err := history.Create(filepath.Join(folder, "a"+history.Suffix))
	require.NoError(t, err)
	w.Write(history.Event{At: 1, Kind: history.Moved})
	ends, err := history.Ends(folder)
	require.NoError(t, err)
	w.Write(history.Event{At: 2, Kind: history.Moved})
	require.NoError(t, w.Close())
	w, err = history.Create(filepath.Join(folder, "b"+history.Suffix)) // by a worker that was started since
	require.NoError(t, err)
	w.Write(history.Event{At: 3, Kind: history.Moved})
	require.NoError(t, w.Close())
	events, err := history.LoadFrom(folder, ends)
	require.NoError(t, err)
	require.Equal(t, []history.Event{{At: 2, Kind: history.Moved, Worker: "a"}, {At: 3, Kind: history.Moved, Worker: "b"}}, events)
}

func TestATornLastLineIsLeftOutAndATornLineBeforeIsAnError(t *testing.T) {
	t.Parallel()
	events, err := history.Parse(strings.NewReader("{\"t\":1,\"k\":\"act\"}\n{\"t\":2,\"k"), "w")
	require.NoError(t, err)
	require.Len(t, events, 1)
	_, err = history.Parse(strings.NewReader("{\"t\":1,\n{\"t\":2,\"k\":\"act\"}\n"), "w")
	require.ErrorContains(t, err, "line 1")
}
