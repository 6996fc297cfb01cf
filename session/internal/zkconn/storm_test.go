// Random bad weather with fixed seeds.

package zkconn_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
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
	random *rand.Rand
	over   <-chan struct{}

	mu      sync.Mutex
	answers map[string]error // of the creates, by path
	fired   chan struct{}
}

// Whatever happens to the connection, a create is sent at most once, its error is the truth, and no
// change of a watched znode goes unnoticed.
func TestStorm(t *testing.T) {
	t.Parallel()
	tier.Seeds(t, 5, func(t *testing.T, seed uint64) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) { weather(t, seed) })
	})
}

func weather(t *testing.T, seed uint64) {
	server, err := zktest.New(zktest.WithServers(3))
	require.NoError(t, err)
	defer server.Close()
	calm := connect(t, server, func(zkconn.Event) {})
	defer calm.Abandon()
	_, err = calm.Create("/watched", []byte("0"), jute.FlagPersistent, 0, world)
	require.NoError(t, err)

	over := make(chan struct{})
	s := &storm{
		T: t, server: server, random: rand.New(rand.NewPCG(seed, 0)), over: over, answers: map[string]error{}, fired: make(chan struct{}, 1),
	}
	s.Conn = connect(t, server, func(ev zkconn.Event) {
		switch ev.(type) {
		case zkconn.Fired:
			select {
			case s.fired <- struct{}{}:
			default:
			}
		case zkconn.Ended:
			s.Error("the session ended")
		}
	})
	defer s.Abandon()
	remove := server.Intercept(s.verdict)
	var workers sync.WaitGroup
	for w := range 8 {
		workers.Go(func() { s.create(w) })
	}
	var seen string
	workers.Go(func() { s.follow(&seen) })
	workers.Go(s.misfortune)
	final := ""
	for i := range 60 {
		final = strconv.Itoa(i)
		_, err := calm.Set("/watched", []byte(final), -1)
		require.NoError(t, err)
		time.Sleep(time.Second)
	}
	remove()
	close(over)
	time.Sleep(time.Minute)
	workers.Wait()
	require.Equal(t, final, seen)
	s.judge()
}

func connect(t *testing.T, server *zktest.Server, sink func(zkconn.Event)) *zkconn.Conn {
	up := make(chan struct{}, 1)
	c, err := zkconn.Open(zkconn.Config{Servers: server.Hosts(), Timeout: 30 * time.Second, Dial: server.Dialer()}, func(ev zkconn.Event) {
		if _, ok := ev.(zkconn.Up); ok && len(up) == 0 {
			up <- struct{}{}
		}
		sink(ev)
	})
	require.NoError(t, err)
	<-up
	return c
}

func (s *storm) create(worker int) {
	for i := 0; ; i++ {
		select {
		case <-s.over:
			return
		case <-time.After(time.Duration(worker+2) * 10 * time.Millisecond):
		}
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

// follow reads the watched znode when its watch has fired, and at no other time, until nothing is
// to come any more.
func (s *storm) follow(seen *string) {
	for {
		data, _, err := s.Get("/watched", true)
		if err != nil {
			if !errors.Is(err, zkconn.ErrNoReply) && !errors.Is(err, zkconn.ErrNotSent) {
				s.Errorf("get: %v", err)
			}
			time.Sleep(100 * time.Millisecond)
			continue
		}
		*seen = string(data)
		select {
		case <-s.fired:
		case <-time.After(time.Minute):
			return
		}
	}
}

func (s *storm) verdict(q *zktest.Request) zktest.Verdict {
	if q.SessionID != s.SessionID() {
		return zktest.Pass
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.random.IntN(200) {
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
	for {
		select {
		case <-s.over:
			return
		case <-time.After(2 * time.Second):
		}
		s.mu.Lock()
		dice := s.random.IntN(4)
		s.mu.Unlock()
		switch dice {
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
}

// judge compares what the callers were told with what the server received.
func (s *storm) judge() {
	received := map[string]int{}
	for _, q := range s.server.Journal() {
		if q.Op == zktest.OpCreate || q.Op == zktest.OpCreate2 {
			received[q.Path]++
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
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
