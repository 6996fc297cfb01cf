// Servers that do not answer are left, if there are better ones; and random bad weather with fixed
// seeds. Helpers: helper_test.go.

package zkconn_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/session/internal/zkconn"
	"github.com/troupe-go/troupe/zktest"
)

// silent lets the current server fall silent, and waits until the Conn has left it. It returns the
// server's address, and after what time it was left.
func (b *bench) silent() (addr string, left time.Duration) {
	b.Helper()
	v := b.connected()
	_, before := told[zkconn.Down](b.sink)
	resume := v.stopReading()
	time.AfterFunc(timeout, resume)
	begun := time.Now()
	for range 2 { // the first one is still read, and answered
		go func() { _ = b.Sync("/") }()
		synctest.Wait()
	}
	time.Sleep(timeout + timeout/6)
	_, after := told[zkconn.Down](b.sink)
	require.Len(b, after, len(before)+1)
	return v.addr, after[len(before)].Sub(begun)
}

// returnsTo has the Conn find all servers bad but this one, and go to it.
func (b *bench) returnsTo(addr string) {
	b.Helper()
	for _, only := range []string{"none", addr} {
		b.script(func() {
			b.refuse = func(a string) error {
				if a != only {
					return errRefused
				}
				return nil
			}
		})
		b.connected().hangUp()
		time.Sleep(timeout / 2)
	}
	b.script(func() { b.refuse = nil })
	require.Equal(b, addr, b.connected().addr)
}

// A server that was left before is left again, while there is time, if there is one that is not
// known to be bad. If there is none, it is not.
func TestAServerThatWasLeftIsLeftAgain(t *testing.T) {
	inBubble(t, func(b *bench) {
		bad, left := b.silent()
		require.Equal(b, timeout/4, left)
		for range 3 { // so that it is tried last for long
			time.Sleep(30 * timeout)
			b.returnsTo(bad)
			_, left = b.silent()
			require.Equal(b, timeout*2/3, left, "the others are known to be bad")
		}

		b.returnsTo(bad)
		time.Sleep(7 * timeout) // the others are not known to be bad any more
		_, left = b.silent()
		require.Equal(b, timeout/4, left)
	}, threeServers, func(_ *fake, cfg *zkconn.Config) {
		cfg.Stake = func() (time.Duration, bool) { return timeout, true }
	})
}

// A server whose name can't be resolved is no reason to leave another one that is slow.
func TestASlowServerIsNotLeftForOneWithoutAnAddress(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.connected()
		b.answers(except(jute.OpMulti, answersAfter(timeout/3)))
		lost := 0
		for begun := time.Now(); time.Since(begun) < 20*timeout; time.Sleep(timeout / 6) {
			if b.Prove("/") != nil {
				lost++
			}
		}
		require.LessOrEqual(b, lost, 1)
		require.LessOrEqual(b, len(b.dialled()), 2)
	}, func(_ *fake, cfg *zkconn.Config) {
		cfg.Servers = []string{"good", "gone"}
		cfg.Lookup = func(_ context.Context, host string) ([]string, error) {
			if host != "good" {
				return nil, errRefused
			}
			return []string{"10.0.0.1"}, nil
		}
		cfg.Stake = func() (time.Duration, bool) { return 0, true }
	})
}

// While a name is being looked up, for long and for the first time, the others are tried: also one
// that has just failed.
func TestAServerThatFailedIsTriedWhileTheNameOfAnotherIsLookedUp(t *testing.T) {
	inBubble(t, func(b *bench) {
		time.Sleep(timeout * 3 / 4)
		b.connected()
	}, func(f *fake, cfg *zkconn.Config) {
		cfg.Servers = []string{"good", "hangs"}
		cfg.Lookup = func(ctx context.Context, host string) ([]string, error) {
			if host != "good" {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return []string{"10.0.0.1"}, nil
		}
		f.refuse = func(string) error {
			if len(f.dialled()) == 1 {
				return errRefused
			}
			return nil
		}
	})
}

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
	s.compare()
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

// compare compares what the callers were told with what the server received.
func (s *storm) compare() {
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

// A lookup that takes longer than a connection is made through another server is not for nothing:
// the name's server is tried when that one is lost.
func TestALookupGoesOnBesideAConnection(t *testing.T) {
	inBubble(t, func(b *bench) {
		tried := func(addr string) bool {
			return slices.ContainsFunc(b.dialled(), func(d dialled) bool { return d.addr == addr })
		}
		for range 10 { // the first time, either may be looked up first
			time.Sleep(timeout)
			b.connected().hangUp()
		}
		time.Sleep(timeout)
		require.True(b, tried("10.0.0.1:2181"))
		require.True(b, tried("10.0.0.2:2181"))
	}, func(_ *fake, cfg *zkconn.Config) {
		cfg.Servers = []string{"quick", "slow"}
		cfg.Lookup = func(ctx context.Context, host string) ([]string, error) {
			if host == "quick" {
				return []string{"10.0.0.1"}, nil
			}
			select {
			case <-time.After(timeout / 2):
				return []string{"10.0.0.2"}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	})
}
