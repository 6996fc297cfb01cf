package interop_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
)

// gozk is a lock of the client library go-zookeeper, which needs no driver. It cannot give up
// waiting.
type gozk struct {
	label string
	conn  *zk.Conn
	lock  *zk.Lock
}

func newGozk(t *testing.T, address, path string) contender {
	t.Helper()
	conn, _, err := zk.Connect([]string{address}, 20*time.Second, zk.WithLogInfo(false), zk.WithLogger(silent{}))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return &gozk{fmt.Sprintf("gozk-%d", targets.Add(1)), conn, zk.NewLock(conn, path, zk.WorldACL(zk.PermAll))}
}

type silent struct{}

func (silent) Printf(string, ...any) {}

func (g *gozk) name() string { return g.label }
func (g *gozk) side() side   { return alone }
func (g *gozk) id() int64    { return g.conn.SessionID() }

func (g *gozk) acquire(time.Duration) (bool, error) {
	done := make(chan error, 1)
	go func() { done <- g.lock.Lock() }() // ends with the lock, or with the connection at the end of the test
	select {
	case err := <-done:
		return err == nil, err
	case <-time.After(patience):
		return false, errors.New(g.label + ": stuck")
	}
}

func (g *gozk) release() error { return g.lock.Unlock() }

func (g *gozk) end() error {
	g.conn.Close()
	return nil
}

func (g *gozk) mark(path string) error {
	_, err := g.conn.Create(path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	return err
}

func (g *gozk) unmark(path string) error { return g.conn.Delete(path, -1) }

func (g *gozk) seen(path string) ([]string, error) {
	names, _, err := g.conn.Children(path)
	return names, err
}
