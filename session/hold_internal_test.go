package session

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/zktest"
)

// Who ends a hold that somebody else is just ending finds it done, with its Err: to him it was
// lost, or released, and not neither.
func TestAHoldThatSomebodyElseEndsIsDone(t *testing.T) {
	t.Parallel()
	for name, whole := range map[string]bool{"a hold": false, "a whole": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := zktest.Start(t)
				s, err := Open(t.Context(), server.Hosts(), WithDialer(server.Dialer()))
				require.NoError(t, err)
				defer func() { require.NoError(t, s.Close(t.Context())) }()
				client, err := s.Client("test", func(Event) {})
				require.NoError(t, err)
				h, err := client.Hold(1, "/line/x", 1, func(error) {})
				require.NoError(t, err)
				end := func(cause error) bool { return client.End(h, cause) }
				quicker := func() (finished func()) {
					g := s.state.lock()
					defer g.unlock()
					g.holds.endAll(ErrUntrusted)
					ended := g.holds.over
					g.holds.over = nil
					return func() { finish(ended) }
				}
				if whole {
					h, end = JoinHolds([]*Hold{h}, func(error) {})
					quicker = func() func() {
						require.False(t, h.over.Swap(true))
						return func() { h.cancel(ending(ErrUntrusted)) }
					}
				}
				finished := quicker()
				found := make(chan error, 1)
				go func() { // ends with the hold
					assert.False(t, end(ErrReleased))
					found <- h.Err()
				}()
				time.Sleep(time.Second)
				finished()
				synctest.Wait()
				require.ErrorIs(t, <-found, ErrUntrusted)
			})
		})
	}
}
