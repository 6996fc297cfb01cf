package session_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
)

// What a client asks to be created is in the record when the request returns. Whoever crashes right
// behind it has a successor who asks what there is, and has to wait for it.
func TestWhatIsAskedForIsInTheRecordAtOnce(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		t := w.client(s)
		for i := range 200 {
			before := session.LedgerLen(s)
			t.Join(1, session.Join{Parent: "/line", Name: "lock-"}, func(session.Joined) {})
			require.Equal(w, before+1, session.LedgerLen(s), "join %d", i)
			t.Commit(1, []session.Op{session.CreateOp(fmt.Sprintf("/%d", i), nil, session.Ephemeral())}, func([]session.Result, error) {})
			require.Equal(w, before+2, session.LedgerLen(s), "commit %d", i)
			synctest.Wait()
		}
	})
}
