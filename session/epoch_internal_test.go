package session

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// A reconnection is to a server that grants another timeout: what rested on the old one ends, and
// trust begins by the new one.
func TestANewTimeoutWithinAnEpoch(t *testing.T) {
	t.Parallel()
	nowhere := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("nobody there") }
	s, err := New([]string{"a:1"}, WithDialer(nowhere))
	require.NoError(t, err)
	conn, err := zkconn.Open(zkconn.Config{Servers: []string{"a:1"}, Timeout: time.Second, Dial: nowhere}, func(zkconn.Event) {})
	require.NoError(t, err)
	e := newEpoch(s, 1)
	e.conn = conn
	g := s.state.lock()
	g.cur, g.started = e, true
	g.unlock()
	client, err := s.Client("test", func(Event) {})
	require.NoError(t, err)
	hold := func() *Hold {
		e.hear(zkconn.Proved{Sent: time.Now(), Write: true})
		h, err := client.Hold(1, "/line/x", 1, func(error) {})
		require.NoError(t, err)
		return h
	}

	e.hear(zkconn.Up{SessionID: 7, Asked: time.Now(), Timeout: 10 * time.Hour})
	e.begun = true
	h := hold()
	e.hear(zkconn.Down{})
	e.hear(zkconn.Up{SessionID: 7, Asked: time.Now(), Timeout: 10 * time.Hour})
	require.True(t, h.Valid(), "the same timeout")
	until := s.Status().TrustedUntil
	e.hear(zkconn.Down{})
	e.hear(zkconn.Up{SessionID: 7, Asked: time.Now(), Timeout: 20 * time.Hour})
	require.True(t, h.Valid(), "a longer one")
	require.True(t, until.Equal(s.Status().TrustedUntil), "what was proved before is good for no longer")
	e.hear(zkconn.Proved{Sent: time.Now(), Write: true})
	require.WithinDuration(t, time.Now().Add(10*time.Hour), s.Status().TrustedUntil, time.Minute)
	e.hear(zkconn.Down{})
	e.hear(zkconn.Up{SessionID: 7, Asked: time.Now(), Timeout: 5 * time.Hour})
	require.True(t, h.Valid(), "a shorter one")
	require.WithinDuration(t, time.Now().Add(5*time.Hour/2), s.Status().TrustedUntil, time.Minute)
	require.Equal(t, Connected, s.Status().State)
	e.hear(zkconn.Down{})
	s.clock.monoSlip.Add(int64(2 * time.Hour)) // both clocks go on
	s.clock.wallSlip.Add(int64(2 * time.Hour))
	require.True(t, h.Valid())
	e.hear(zkconn.Up{SessionID: 7, Asked: time.Now(), Timeout: 3 * time.Hour})
	<-h.Done()
	require.ErrorIs(t, h.Err(), ErrUntrusted, "a timeout that leaves nothing")
	require.False(t, h.Valid())
	require.Equal(t, Untrusted, s.Status().State)
	require.True(t, hold().Valid())
	require.Equal(t, Connected, s.Status().State)

	require.NoError(t, s.Close(t.Context()), "there was never a ZooKeeper session")
}
