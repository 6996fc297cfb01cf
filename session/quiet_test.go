package session_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// A reconnection reads nothing again: what is watched is armed again, and the servers tell what has
// changed meanwhile.
func TestAReconnectionReadsOnlyWhatHasChanged(t *testing.T) {
	inBubble(t, func(w *world) {
		s, other := w.open(), w.open()
		var data []<-chan session.Data
		for i := range 300 {
			if i%2 == 0 {
				w.create(s, fmt.Sprintf("/%d", i), nil)
			}
			data = append(data, s.WatchData(w.ctx, fmt.Sprintf("/%d", i)))
			newest(w, data[i])
		}
		children := s.WatchChildren(w.ctx, "/")
		w.settle()
		<-children
		heal := w.srv.Partition(id(s))
		time.Sleep(4 * time.Second)
		w.write(other, "/4", []byte("changed"))
		require.NoError(w, other.Delete(w.ctx, "/6", -1))
		w.create(other, "/7", nil)
		w.srv.ClearJournal()
		w.srv.Disconnect(id(s))
		heal()
		time.Sleep(5 * time.Second)
		reads := map[string]int{}
		for _, r := range w.srv.Journal() {
			switch r.Op {
			case zktest.OpGetData, zktest.OpExists, zktest.OpGetChildren, zktest.OpGetChildren2:
				reads[r.Path]++
			}
		}
		require.Len(w, reads, 4, reads)
		for _, path := range []string{"/4", "/6", "/7", "/"} {
			require.Positive(w, reads[path], path)
		}
		require.Equal(w, "changed", string((<-data[4]).Bytes))
		require.False(w, (<-data[6]).Exists)
		require.True(w, (<-data[7]).Exists)
		fresh := <-data[8]
		require.True(w, fresh.Exists && !fresh.Stale)
		require.False(w, (<-children).Stale)
	})
}
