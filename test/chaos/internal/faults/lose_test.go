// Lost replies, on a real server.

package faults_test

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/test/chaos/internal/faults"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// linked is a world in which nothing can be disturbed but one link.
type linked struct {
	faults.World
	link *ensemble.Proxy
}

func (w linked) Link(int, int) *ensemble.Proxy { return w.link }

// What is asked while replies are lost may be carried out all the same, and its outcome is not
// known.
func TestLostReplies(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	link, err := ensemble.NewProxy(ensemble.Start(t, 1).Servers()[0])
	require.NoError(t, err)
	t.Cleanup(link.Close)
	s, err := session.Open(t.Context(), []string{link.Addr()}, session.WithTimeout(time.Minute))
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close(t.Context())) }()
	c := faults.Conductor{World: linked{link: link}, Servers: 1, Workers: 1, Log: io.Discard}
	storm := faults.Storm{Faults: []faults.Fault{{Kind: faults.Lose, For: 50 * time.Millisecond}}}
	for try, exists := 0, false; !exists; try++ {
		over := make(chan struct{})
		go func() { // owner: the test, which waits below
			defer close(over)
			c.Storm(t.Context(), storm)
		}()
		path, err := "", error(nil)
		for n := 0; err == nil && n < 1000; n++ {
			path = fmt.Sprintf("/%d-%d", try, n)
			_, err = s.Create(t.Context(), path, nil)
		}
		<-over
		if err == nil {
			continue // the storm came earlier than the first request, or later than the last
		}
		require.ErrorIs(t, err, session.ErrUnknownOutcome)
		_, exists, err = s.Exists(t.Context(), path)
		require.NoError(t, err)
	}
}
