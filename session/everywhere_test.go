package session_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// everywhere runs a test on the server in memory, without and with a namespace, and on a real
// server: nobody must be able to tell.
func everywhere(t *testing.T, test func(w *world, s *session.Session)) {
	t.Parallel()
	for name, opts := range map[string][]session.Option{
		"plain":      nil,
		"namespaced": {session.WithNamespace("/some/where")},
	} {
		t.Run(name, func(t *testing.T) { inBubble(t, func(w *world) { test(w, w.open(opts...)) }) })
	}
	t.Run("real server", func(t *testing.T) {
		tier.Real(t)
		t.Parallel()
		w := onReal(t)
		test(w, w.open(session.WithNamespace(fmt.Sprintf("/%s-%d", strings.ReplaceAll(t.Name(), "/", "-"), real.runs.Add(1)))))
	})
}

// onReal is a world on the real server that the tests share.
func onReal(t *testing.T) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	w := &world{T: t, ctx: ctx}
	require.NoError(t, real.start())
	return w
}

// real is one server for all tests that need no more.
var real sharedServer

type sharedServer struct {
	runs atomic.Int64 // each has a namespace of its own
	once sync.Once
	e    *ensemble.Ensemble
	err  error
}

func (r *sharedServer) start() error {
	r.once.Do(func() { r.e, r.err = ensemble.New(1) })
	return r.err
}

func stopReal() {
	if real.e != nil {
		real.e.Close()
	}
}
