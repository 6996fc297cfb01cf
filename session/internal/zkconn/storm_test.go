// Random bad weather with fixed seeds.

package zkconn_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/session/internal/zkconn"
	"github.com/troupe-go/troupe/zktest"
)

// storm is a Conn in bad weather.
type storm struct {
	*testing.T
	*zkconn.Conn
	server *zktest.Server

	mu      sync.Mutex
	random  *rand.Rand
	answers map[string]error // of the creates, by path
}

// Whatever happens to the connection, a create is sent at most once, and its error is the truth.
func TestStorm(t *testing.T) {
	t.Parallel()
	tier.Seeds(t, 5, func(t *testing.T, seed uint64) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) { weather(t, seed) })
	})
}

func weather(t *testing.T, seed uint64) {
	server := zktest.Start(t, zktest.WithServers(3))
	s := &storm{T: t, server: server, random: rand.New(rand.NewPCG(seed, 0)), answers: map[string]error{}}
	var err error
	s.Conn, err = zkconn.Open(zkconn.Config{Servers: server.Hosts(), Timeout: 30 * time.Second, Dial: server.Dialer()}, func(ev zkconn.Event) {
		if _, ended := ev.(zkconn.Ended); ended {
			s.Error("the session ended")
		}
	})
	require.NoError(t, err)
	defer s.Abandon()
	synctest.Wait()
	defer server.Intercept(s.verdict)()
	ctx, over := context.WithTimeout(t.Context(), time.Minute)
	defer over()
	var workers sync.WaitGroup
	for w := range 8 {
		workers.Go(func() { s.create(ctx, w) })
	}
	for ctx.Err() == nil {
		time.Sleep(2 * time.Second)
		s.misfortune()
	}
	workers.Wait()
	s.judge()
}

func (s *storm) create(ctx context.Context, worker int) {
	for i := 0; ctx.Err() == nil; i++ {
		time.Sleep(time.Duration(worker+2) * 10 * time.Millisecond)
		path := fmt.Sprintf("/%d-%d", worker, i)
		var err error
		if i%2 == 0 {
			_, err = s.Create(path, nil, jute.FlagPersistent, 0, world)
		} else {
			_, err = s.Enter(zkconn.Entry{Path: path, ACL: world, List: "/"}) // two requests in one write
		}
		s.mu.Lock()
		s.answers[path] = err
		s.mu.Unlock()
		if err != nil {
			time.Sleep(100 * time.Millisecond)
		}
	}
}

func (s *storm) draw(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.IntN(n)
}

func (s *storm) verdict(*zktest.Request) zktest.Verdict {
	switch s.draw(200) {
	case 0:
		return zktest.CutBefore
	case 1:
		return zktest.CutAfter
	case 2:
		return zktest.Delay(time.Second)
	}
	return zktest.Pass
}

func (s *storm) misfortune() {
	switch s.draw(4) {
	case 0:
		s.server.Disconnect(s.SessionID())
	case 1:
		heal := s.server.Partition(s.SessionID())
		time.Sleep(10 * time.Second)
		heal()
	case 2:
		heal := s.server.PartitionOneWay(s.SessionID(), zktest.FromServer)
		time.Sleep(3 * time.Second)
		heal()
	}
}

// judge compares what the callers were told with what the server received.
func (s *storm) judge() {
	received := map[string]int{}
	for _, q := range s.server.Journal() {
		if q.Op == zktest.OpCreate || q.Op == zktest.OpCreate2 {
			received[q.Path]++
		}
	}
	done, lost, unsent := 0, 0, 0
	for path, err := range s.answers {
		require.LessOrEqual(s, received[path], 1, path)
		switch {
		case err == nil:
			done++
			require.Equal(s, 1, received[path], path)
		case errors.Is(err, zkconn.ErrNotSent):
			unsent++
			require.Zero(s, received[path], path)
		default:
			lost++
			require.ErrorIs(s, err, zkconn.ErrNoReply)
		}
	}
	s.Logf("%d created, %d of unknown outcome, %d not sent", done, lost, unsent)
	require.Positive(s, done)
	require.Positive(s, lost)
}
