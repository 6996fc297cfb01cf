package zkserver_test

import (
	"context"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/zkserver"
)

// Not parallel: it counts the goroutines and the memory of the process.
func TestAnIdleServerIsSmall(t *testing.T) {
	goroutines, memory := runtime.NumGoroutine(), heap()
	s := start(t, zkserver.Config{Journal: 1 << 16})
	require.LessOrEqual(t, runtime.NumGoroutine(), goroutines)
	_, err := s.Front(0).Listen(context.Background(), "127.0.0.1:0")
	require.NoError(t, err)
	require.LessOrEqual(t, runtime.NumGoroutine()-goroutines, 2)
	require.Less(t, heap()-memory, int64(1<<20))
}

func TestStartAndStopAreQuick(t *testing.T) {
	best := time.Hour
	for tries := 0; tries < 1000 && best >= time.Millisecond; tries++ { // a busy machine has quiet moments
		began := time.Now()
		s, err := zkserver.New(zkserver.Config{})
		require.NoError(t, err)
		address, err := s.Front(0).Listen(context.Background(), "127.0.0.1:0")
		require.NoError(t, err)
		conn, err := net.Dial("tcp", address)
		require.NoError(t, err)
		require.NoError(t, s.Close())
		best = min(best, time.Since(began))
		conn.Close()
	}
	require.Less(t, best, time.Millisecond)
}
