package zkconn

import (
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/notify"
)

// A panic in the check for a stall loses the connection. It leaves nothing locked, which would
// block everything.
func TestAPanicInTheCheckForAStallLosesTheConnection(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	defer far.Close()
	c := &core{log: slog.New(slog.DiscardHandler), sink: func(Event) {}, life: t.Context(), taking: t.Context()}
	c.session.timeout = time.Second
	w := &wire{conn: c, link: newLink(near, 0, c.log), at: &target{server: "a", address: "a"}, lost: notify.NewLatch()}
	w.order = queue{&request{sentAt: time.Now()}} // and no timer, which it can't do without
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.checkStall()
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		require.Fail(t, "it does not return")
	}
	require.True(t, w.lost.Closed())
	require.ErrorIs(t, w.dead, errPanic)
	require.True(t, c.mu.TryLock())
}
