package zktest_test

// Random histories: the same requests have the same history, and when all faults are healed every
// client is served.

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// The same requests get the same replies, events and zxids, to the letter: also those that come of
// expiries and of containers that go.
func TestTheSameRequestsHaveTheSameHistory(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		first := history(t, seed)
		require.Greater(t, strings.Count(first, "isEvent:true"), 30, "a history without events would show little")
		require.Greater(t, strings.Count(first, "session"), 5)
		require.Equal(t, first, history(t, seed))
	}
}

func history(t *testing.T, seed uint64) (all string) {
	t.Helper()
	bubbleHere(t, func(t *testing.T, s *zktest.Server) {
		d := &differ{t: t, rnd: rand.New(rand.NewPCG(seed, 2))}
		var b strings.Builder
		clients := make([]*raw, 4)
		for range 2000 {
			i := d.rnd.IntN(len(clients))
			over := clients[i] == nil
			if !over {
				_, ok := alive(s, clients[i])
				over = !ok
			}
			if over {
				clients[i] = client(t, s, 10*time.Second)
				fmt.Fprintf(&b, "session %x\n", clients[i].session)
			}
			q := []jute.Request{d.request()}
			for q[0].Op == jute.OpCheck || q[0].Op == jute.OpDeleteContainer { // later versions hang up on them
				q[0] = d.request()
			}
			require.NoError(t, clients[i].post(q))
			got, err := clients[i].collect(q)
			fmt.Fprintf(&b, "%d: %+v %v\n", i, got, err)
			if d.rnd.IntN(10) == 0 {
				time.Sleep(time.Duration(d.rnd.IntN(4)) * time.Second)
			}
			synctest.Wait()
		}
		b.WriteString(s.Dump())
		all = b.String()
	}, zktest.WithContainerCheck(10*time.Second), zktest.WithVersion(zktest.Versions()[seed%uint64(len(zktest.Versions()))]))
	return all
}

// Faults come and go in random order: once they are healed every client is served, and nothing is
// left when the server is closed.
func TestEverybodyIsServedWhenAllFaultsAreHealed(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		synctest.Test(t, func(t *testing.T) {
			s, err := zktest.New(zktest.WithServers(3))
			require.NoError(t, err)
			rnd := rand.New(rand.NewPCG(seed, 7))
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			var clients sync.WaitGroup
			for i := range 4 {
				clients.Go(func() { busy(ctx, s, uint64(i)) }) // ends with ctx
			}
			faults(ctx, s, rnd)
			clients.Wait()
			c := client(t, s, 10*time.Second, rnd.IntN(3))
			c.must(t, create("/works", 0))
			require.NoError(t, s.Close())
		})
	}
}

// faults makes one after the other until ctx ends, and heals them all.
func faults(ctx context.Context, s *zktest.Server, rnd *rand.Rand) {
	heals := []func(){}
	for ctx.Err() == nil {
		i := rnd.IntN(3)
		switch rnd.IntN(9) {
		case 0:
			heals = append(heals, s.IsolateServer(i, time.Duration(rnd.IntN(2))*5*time.Second))
		case 1:
			s.Stop(i)
			heals = append(heals, func() { s.Continue(i) })
		case 2:
			s.Kill(i)
			heals = append(heals, func() { _ = s.Restart(i) })
		case 3:
			for _, session := range s.Sessions() {
				heals = append(heals, s.PartitionOneWay(session.ID, zktest.Direction(rnd.IntN(3))))
				break
			}
		case 4:
			heals = append(heals, s.Host("host").Partition())
		case 5:
			s.Lag(i, rnd.IntN(5))
			heals = append(heals, func() { s.Lag(i, 0) })
		case 6:
			for _, session := range s.Sessions() {
				s.Disconnect(session.ID)
			}
		case 7:
			heals = append(heals, s.Intercept(func(q *zktest.Request) zktest.Verdict {
				return []zktest.Verdict{zktest.Pass, zktest.Pass, zktest.Delay(time.Second), zktest.CutAfter, zktest.CutBefore, zktest.DropReply}[q.K%6]
			}))
		case 8:
			for _, session := range s.Sessions() {
				s.Expire(session.ID)
				break
			}
		}
		time.Sleep(time.Duration(rnd.IntN(4000)) * time.Millisecond)
		for len(heals) > rnd.IntN(4) {
			k := rnd.IntN(len(heals))
			heals[k]()
			heals = append(heals[:k], heals[k+1:]...)
		}
	}
	for _, heal := range heals {
		heal()
	}
}

// busy is a client that never gives up, at any server, and also when its session ends.
func busy(ctx context.Context, s *zktest.Server, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 8))
	dial := s.Dialer()
	if seed == 0 {
		dial = s.Host("host").Dialer()
	}
	c, err := session.New(s.Hosts(), session.WithDialer(dial), session.WithTimeout(5*time.Second))
	if err != nil {
		panic(err)
	}
	paths := []string{"/a", "/b", "/a/c"}
	for ctx.Err() == nil {
		path := paths[rnd.IntN(len(paths))]
		switch rnd.IntN(5) { // any outcome will do
		case 0:
			_, _ = c.Create(ctx, path, nil, [][]session.CreateOption{nil, {session.Ephemeral()}, {session.Sequential()}}[rnd.IntN(3)]...)
		case 1:
			_ = c.Delete(ctx, path, -1)
		case 2:
			_, _, _ = c.Children(ctx, path)
		case 3:
			_ = c.Sync(ctx, path)
		case 4:
			<-c.WatchData(ctx, path)
		}
		time.Sleep(time.Duration(rnd.IntN(500)) * time.Millisecond)
	}
	_ = c.Close(context.Background()) // the servers are healed
}
