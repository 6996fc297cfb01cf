package zktest_test

// How a program is tested that knows go-zookeeper alone; docs/testing.md names this file.

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/zktest"
)

// register is a program that knows nothing of Troupe: as long as ctx lives, it keeps an ephemeral
// below /services, also when its session is lost.
func register(ctx context.Context, hosts []string, name, address string, connect func([]string) (*zk.Conn, <-chan zk.Event, error)) error {
	conn, events, err := connect(hosts)
	if err != nil {
		return err
	}
	defer conn.Close()
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-events:
			if e.State != zk.StateHasSession {
				continue
			}
			_, err := conn.Create("/services/"+name, []byte(address), zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
			if err != nil && !errors.Is(err, zk.ErrNodeExists) {
				return err
			}
		}
	}
}

// Testing a program that is written with go-zookeeper alone: it dials in memory, so that its time
// is the test's; the tree is set up and looked at without a client; and its session is ended as a
// server would end it.
func TestAProgramOfGoZookeepersRegistersAgainAfterItsSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := zktest.Start(t)
		require.NoError(t, server.Znodes(t).Create("/services", nil))
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { // ends with ctx
			done <- register(ctx, server.Hosts(), "api", "10.0.0.7:80", func(hosts []string) (*zk.Conn, <-chan zk.Event, error) {
				return zk.Connect(hosts, 10*time.Second, zk.WithDialer(server.DialTimeout), zk.WithLogger(quiet{}))
			})
		}()
		synctest.Wait()
		address, err := server.Znodes(t).Get("/services/api")
		require.NoError(t, err)
		require.Equal(t, "10.0.0.7:80", string(address))

		server.Expire(server.Sessions()[0].ID)
		_, err = server.Znodes(t).Get("/services/api")
		require.ErrorIs(t, err, zktest.ErrNoNode)
		time.Sleep(time.Minute) // of the test's time
		_, err = server.Znodes(t).Get("/services/api")
		require.NoError(t, err, "it is there again")

		stop()
		require.NoError(t, <-done)
		names, err := server.Znodes(t).Children("/services")
		require.NoError(t, err)
		require.Empty(t, names, "Close has taken it away")
	})
}
