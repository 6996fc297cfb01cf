package lock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// pair is a holder who is about to be cut off, and the rival who waits for him.
type pair struct {
	holder, rival *lock.Lock
	grant         *lock.Grant
	ended         chan time.Time
	won           chan victory
}

// victory is the rival's grant, and when it came.
type victory struct {
	grant *lock.Grant
	at    time.Time
}

const (
	shortTimeout = 2 * time.Second
	cutTimeout   = 4 * time.Second // half of it is the margin, which has to bear a machine so busy that servers pass on late what they hear
)

// pairs makes n of them, each on a path of its own.
func pairs(t *testing.T, n int, holderOn func(i int) []string, rivalOn []string) []*pair {
	t.Helper()
	var all []*pair
	rivals := bubble.Open(t, rivalOn, session.WithTimeout(cutTimeout))
	for i := range n {
		path := fmt.Sprintf("/overlap/%d", i)
		s := bubble.Open(t, holderOn(i), session.WithTimeout(cutTimeout))
		all = append(all, &pair{holder: newLock(t, s, path), rival: newLock(t, rivals, path)})
	}
	return all
}

// begin has the holder hold and the rival wait. Each of the two has somebody who notes the time at
// once, however many pairs there are.
func (p *pair) begin(t *testing.T) {
	p.holder.Acquire()
	p.grant = soon(t, p.holder.Acquired(), "the holder")
	p.rival.Acquire()
	inLine(t, p.rival)
	p.ended, p.won = make(chan time.Time, 1), make(chan victory, 1)
	grant, ended, won := p.grant, p.ended, p.won
	go func() { // ends with the grant
		<-grant.Done()
		ended <- time.Now()
	}()
	go func() { // ends with the rival's grant, or with the test
		select {
		case g := <-p.rival.Acquired():
			won <- victory{g, time.Now()}
		case <-t.Context().Done():
		}
	}()
}

// lead is by how much the holder's Done came before the rival's grant; below zero both held.
func (p *pair) lead(t *testing.T) time.Duration {
	next := soon(t, p.won, "the rival")
	require.Greater(t, next.grant.Token(), p.grant.Token())
	return next.at.Sub(soon(t, p.ended, "the holder's end"))
}

// finish clears the line for the next round.
func (p *pair) finish(t *testing.T) {
	release(t, p.rival)
	release(t, p.holder)
}

// How many pairs there are, and how often they are cut off: fifty rounds and one.
const width, rounds = 17, 3

// B05, B06: packets vanish between the holder and three real servers; his Done closes before the
// rival is granted.
func TestB05_B06_NoOverlapInAPartition(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	e := ensemble.Start(t, 3)
	proxies := make([]*ensemble.Proxy, width)
	for i := range proxies {
		var err error
		proxies[i], err = ensemble.NewProxy(e.Servers()[i%3])
		require.NoError(t, err)
		t.Cleanup(proxies[i].Close)
	}
	all := pairs(t, width, func(i int) []string { return []string{proxies[i].Addr()} }, e.Servers())
	longest := bubble.Pauses(t)
	var leads []time.Duration
	for range rounds {
		for _, p := range all {
			p.begin(t)
		}
		for _, proxy := range proxies {
			proxy.Blackhole()
		}
		for _, p := range all {
			leads = append(leads, p.lead(t))
		}
		for _, proxy := range proxies {
			proxy.Heal()
		}
		for _, p := range all {
			p.finish(t)
		}
	}
	bubble.InTime(t, "partition", leads, longest())
}

// isolationRounds cuts the server of the holders off from its leader while it goes on answering
// them.
func isolationRounds(t *testing.T) (leads []time.Duration) {
	e := ensemble.Start(t, 3)
	follower := (bubble.Leader(t, e) + 1) % 3
	others := append(append([]string(nil), e.Servers()[:follower]...), e.Servers()[follower+1:]...)
	all := pairs(t, width, func(int) []string { return e.Servers()[follower : follower+1] }, others)
	for range rounds {
		for _, p := range all {
			p.begin(t)
		}
		heal := e.Isolate(follower)
		for _, p := range all {
			leads = append(leads, p.lead(t))
		}
		heal()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		require.NoError(t, e.Await(ctx))
		cancel()
		for _, p := range all {
			p.finish(t)
		}
	}
	return leads
}

// B44: the same when it is the holder's server that is cut off.
func TestB44_NoOverlapOnAnIsolatedServer(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	longest := bubble.Pauses(t)
	leads := isolationRounds(t)
	bubble.InTime(t, "isolated server", leads, longest())
}
