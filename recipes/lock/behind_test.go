package lock_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/zktest"
)

// An exchange whose request was lost is asked for again, but not by an incarnation that has crashed meanwhile: nobody would know of the reader's znode.
func TestADowngradeIsNotRepeatedBehindACrash(t *testing.T) {
	t.Parallel()
	for range 20 { // the recovery and what it must not meet run side by side
		inBubble(t, func(w *world) {
			h := w.host("a")
			l := w.writer(h)
			g := w.held(l)
			id, lost, looked := h.Status().SessionID, false, make(chan struct{})
			w.Cleanup(w.server.Intercept(func(r *zktest.Request) zktest.Verdict {
				switch {
				case r.SessionID != id:
				case r.Op == zktest.OpMulti && !lost:
					lost = true
					return zktest.CutBefore
				case r.Op == zktest.OpGetData && strings.Contains(r.Path, "-read-") && looked != nil:
					close(looked)
					looked = nil
					return zktest.Delay(time.Second)
				}
				return zktest.Pass
			}))
			looking, ended := looked, make(chan error, 1)
			go func() { _, err := g.Downgrade(w.Context()); ended <- err }()
			<-looking
			l.Crash("a bug")
			require.Error(w, within(w, time.Minute, ended))
			time.Sleep(time.Minute)
			require.Zero(w, w.nodes(), w.server.Dump())
		})
	}
}
