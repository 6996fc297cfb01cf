package barrier_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// TestStorms: parties on three servers go from round to round while the network, the servers and
// the processes fail at random, some killed and started anew under their ids. When everything is
// healed, all of them go on within a few session timeouts.
func TestStorms(t *testing.T) {
	t.Parallel()
	tier.Seeds(t, tier.Count(2, 8), func(t *testing.T, seed uint64) {
		t.Parallel()
		runStorm(t, seed)
	})
}

func runStorm(t *testing.T, seed uint64) {
	t.Helper()
	inBubble(t, func(w *world) {
		defer w.Server.Intercept(bubble.Slowly(seed))()
		s := &tempest{world: w, rand: rand.New(rand.NewPCG(seed, 11))}
		for i := range 2 + s.rand.IntN(3) {
			s.parties = append(s.parties, &process{index: i})
		}
		for _, p := range s.parties {
			s.start(p)
		}
		for range 1 + s.rand.IntN(2) {
			s.rage(20 * time.Second)
			s.calm()
		}
		for _, p := range s.parties {
			p.stop()
		}
	}, zktest.WithServers(3), zktest.WithSeed(seed))
}

// tempest is a world in which everything fails.
type tempest struct {
	*world
	rand    *rand.Rand
	parties []*process
	heals   []func()
}

// process is a party, in one process after the other.
type process struct {
	index, life int
	host        *bubble.Host
	double      *barrier.Double
	stop        func()
	dead        bool
	moved       atomic.Int64
	asking      atomic.Bool  // to enter
	late        atomic.Int64 // how many lives ended while they asked, less how often a later one was replaced
}

const lifetime = 3 * time.Second // of sessions

func (s *tempest) start(p *process) {
	p.life++
	p.dead = false
	machine := s.Server.Host(fmt.Sprintf("h%d.%d", p.index, p.life))
	sess := s.Unconnected(session.WithDialer(machine.Dialer()), session.WithTimeout(lifetime), session.WithTick(500*time.Millisecond))
	p.host = &bubble.Host{Session: sess, Machine: machine}
	d, err := barrier.NewDouble(sess, path, len(s.parties), barrier.WithID(fmt.Sprint("p", p.index)))
	require.NoError(s, err)
	p.double = d
	ctx, cancel := context.WithCancel(s.Context())
	over := make(chan struct{})
	rng := rand.New(rand.NewPCG(s.rand.Uint64(), 1))
	go func() { // ends with ctx
		defer close(over)
		for ctx.Err() == nil {
			p.round(ctx, s.T, d, rng)
		}
	}()
	p.stop = func() {
		cancel()
		<-over
		p.host.Die()
	}
}

// round is one turn of what the workload of the chaos run does.
func (p *process) round(ctx context.Context, t *testing.T, d *barrier.Double, rng *rand.Rand) {
	if rng.IntN(40) == 0 {
		_ = d.Break(ctx) // whatever comes of it
	}
	p.asking.Store(true)
	passage, err := d.Enter(ctx)
	p.asking.Store(false)
	switch {
	case err == nil:
	case errors.Is(err, barrier.ErrBroken):
		p.moved.Add(1)
		return
	case errors.Is(err, barrier.ErrReplaced): // one process of an id lives at a time, but the last arrival of a dead one may be carried out late
		assert.GreaterOrEqual(t, p.late.Add(-1), int64(0), "%v", err)
		return
	default:
		assert.Error(t, ctx.Err(), "%v", err)
		return
	}
	p.moved.Add(1)
	select {
	case <-time.After(time.Duration(rng.IntN(100)) * time.Millisecond):
	case <-passage.Done():
		return
	}
	bounded, cancel := context.WithTimeout(ctx, 3*lifetime)
	defer cancel()
	_ = passage.Leave(bounded) // that the others take long, or that it was lost
}

// rage makes one fault after the other.
func (s *tempest) rage(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		s.fault()
		time.Sleep(time.Duration(s.rand.IntN(1200)) * time.Millisecond)
		for len(s.heals) > s.rand.IntN(4) {
			k := s.rand.IntN(len(s.heals))
			s.heals[k]()
			s.heals = append(s.heals[:k], s.heals[k+1:]...)
		}
	}
}

func (s *tempest) fault() {
	p, i := s.parties[s.rand.IntN(len(s.parties))], s.rand.IntN(3)
	id := p.host.Status().SessionID
	switch s.rand.IntN(14) {
	case 0:
		s.heals = append(s.heals, s.Server.IsolateServer(i, time.Duration(s.rand.IntN(2))*2500*time.Millisecond))
	case 1:
		s.Server.Stop(i)
		s.heals = append(s.heals, func() { s.Server.Continue(i) })
	case 2:
		s.Server.Kill(i)
		s.heals = append(s.heals, func() { _ = s.Server.Restart(i) }) // binds to nothing
	case 3:
		s.heals = append(s.heals, p.host.Machine.Partition())
	case 4:
		s.heals = append(s.heals, p.host.Machine.PartitionOneWay(zktest.Direction(s.rand.IntN(3))))
	case 5:
		s.Server.Lag(i, 1+s.rand.IntN(5))
		s.heals = append(s.heals, func() { s.Server.Lag(i, 0) })
	case 6:
		s.Server.Disconnect(id)
	case 7:
		s.Server.Expire(id)
	case 8:
		p.double.Crash("a bug")
	case 9, 10:
		if !p.dead {
			p.host.Machine.Partition() // before anything is given back
			if p.asking.Load() {
				p.late.Add(1)
			}
			p.stop()
			p.dead = true
			s.heals = append(s.heals, func() { s.start(p) })
		}
	default:
		fates := []zktest.Verdict{zktest.CutAfter, zktest.CutBefore, zktest.DropReply, zktest.Delay(time.Second)}
		fate, left := fates[s.rand.IntN(len(fates))], int64(1+s.rand.IntN(3))
		var met atomic.Int64
		s.heals = append(s.heals, s.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.SessionID == id && r.Op != zktest.OpPing && r.Op != zktest.OpConnect && met.Add(1) == left {
				return fate
			}
			return zktest.Pass
		}))
	}
}

// calm heals everything, and waits until every party has moved.
func (s *tempest) calm() {
	for _, heal := range s.heals {
		heal()
	}
	s.heals = nil
	before := make([]int64, len(s.parties))
	for i, p := range s.parties {
		before[i] = p.moved.Load()
	}
	time.Sleep(4 * lifetime)
	for i, p := range s.parties {
		if p.moved.Load() == before[i] {
			s.Fatalf("p%d stands still\n%s", i, s.Server.Dump())
		}
	}
}
