package twopc_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/zktest"
)

const path = "/pay/transfers"

// world is a bubble with transactions in it.
type world struct{ *bubble.World }

// inBubble runs a test in virtual time.
func inBubble(t *testing.T, f func(w *world), opts ...zktest.Option) {
	t.Helper()
	bubble.Run(t, func(w *bubble.World) { f(&world{w}) }, bubble.Brisk(opts...)...)
}

func (w *world) coordinator(h *bubble.Host, opts ...twopc.Option) *twopc.Coordinator {
	w.Helper()
	c, err := twopc.NewCoordinator(h.Session, path, opts...)
	require.NoError(w, err)
	return c
}

// site registers one and waits for that.
func (w *world) site(h *bubble.Host, name string) *twopc.Site {
	w.Helper()
	s, err := twopc.NewSite(h.Session, path, name)
	require.NoError(w, err)
	synctest.Wait()
	return s
}

// nodes are the znodes below the path but the containers and the presences.
func (w *world) nodes() []string {
	var all []string
	for line := range strings.Lines(w.Server.Dump()) {
		node, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest, below := strings.CutPrefix(node, path+"/")
		switch parts := strings.Split(rest, "/"); {
		case !below:
		case parts[0] == "tx" && len(parts) > 1, parts[0] == "inbox" && len(parts) > 2:
			all = append(all, node)
		}
	}
	return all
}

// ended waits for all applications, which end with their sessions. One of them may wait for a
// decision, or for an end, that never comes.
func (w *world) ended(all *sync.WaitGroup) {
	w.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		all.Wait()
	}()
	bubble.Within(w, 5*time.Minute, done)
}
