package zktest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/zktest"
)

// B06: packets vanish without a reset; the session expires in time, and its client learns nothing
// of it.
func TestPartition(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		start := time.Now()
		c, other := client(t, s, 10*time.Second), client(t, s, 40*time.Second)
		c.must(t, create("/held", jute.FlagEphemeral))
		heal := s.Partition(c.session)
		require.NoError(t, c.send(create("/late", 0)))
		c.silent(t, 5*time.Second)
		require.False(t, other.exists(t, "/late"))

		dialed := make(chan error, 1)
		go func() {
			_, err := resume(s, c, 0)
			dialed <- err
		}()
		time.Sleep(time.Until(start.Add(12*time.Second)) - 1)
		require.True(t, other.exists(t, "/held"))
		time.Sleep(1)
		synctest.Wait()
		require.False(t, other.exists(t, "/held"), "the session expires in time")
		c.silent(t, time.Second) // and its client doesn't know
		require.ErrorContains(t, <-dialed, "timeout")

		heal()
		heal()
		_, err := c.frame()
		require.Error(t, err, "now it knows")
		require.False(t, other.exists(t, "/late"))
	})
}

func TestAShortPartitionOnlyDelays(t *testing.T) {
	t.Parallel()
	for _, d := range []zktest.Direction{zktest.Both, zktest.ToServer, zktest.FromServer} {
		bubble(t, func(t *testing.T, s *zktest.Server) {
			c, other := client(t, s, 10*time.Second), client(t, s, 40*time.Second)
			heal := s.PartitionOneWay(c.session, d)
			require.NoError(t, c.send(create("/a", 0)))
			synctest.Wait()
			require.Equal(t, d == zktest.FromServer, other.exists(t, "/a"))
			time.AfterFunc(3*time.Second, heal)
			before := time.Now()
			frame, err := c.frame()
			require.NoError(t, err)
			require.Equal(t, 3*time.Second, time.Since(before))
			var p jute.Reply
			r := jute.NewReader(frame)
			require.NoError(t, p.DecodeHeader(r))
			require.NoError(t, p.DecodeBody(r, jute.OpCreate))
			require.Equal(t, "/a", p.Path)
		})
	}
}

func TestAHostIsCutOffAsAWhole(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		dial := s.Host("a").Dialer()
		conn, err := dial(context.Background(), "tcp", s.Hosts()[0])
		require.NoError(t, err)
		c, err := greet(conn, jute.ConnectRequest{Timeout: 10000, Password: make([]byte, 16)})
		require.NoError(t, err)
		heal := s.Host("a").Partition()
		require.NoError(t, c.send(create("/a", 0)))
		c.silent(t, time.Second)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err = dial(ctx, "tcp", s.Hosts()[0])
		require.ErrorIs(t, err, context.DeadlineExceeded)
		other, err := s.Host("b").Dialer()(context.Background(), "tcp", s.Hosts()[0])
		require.NoError(t, err)
		other.Close()

		time.AfterFunc(time.Second, heal)
		late, err := dial(context.Background(), "tcp", s.Hosts()[0])
		require.NoError(t, err)
		late.Close()
		c.conn.SetDeadline(time.Time{})
		_, err = c.frame()
		require.NoError(t, err)
	})
}
