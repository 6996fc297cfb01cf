package bench_test

// Two-phase commit, in both forms.

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// BenchmarkTwoPhaseCommit is one transaction of n sites, from Begin until all have acknowledged, in
// both forms of ZooKeeper's recipe page, with the requests and the watch events that the server
// counted: of the order of n where the coordinator decides, of n² where the peers do.
func BenchmarkTwoPhaseCommit(b *testing.B) {
	for _, n := range []int{1, 2, 4, 8, 16, 32} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			e := ensemble.Start(b, 1)
			coordinator, peers := newParticipants(b, e.Servers(), "coordinator", n), newParticipants(b, e.Servers(), "peers", n, twopc.WithPeerDecision())
			compare(b, e, cycles, &form{name: "coordinator", cycle: timed(coordinator.commit)}, &form{name: "peers", cycle: timed(peers.commit)})
		})
	}
}

// participants is a coordinator and its sites, which agree to everything.
type participants struct {
	b     *testing.B
	c     *twopc.Coordinator
	sites []string
	last  atomic.Int64
	acked sync.Map // id → *sync.WaitGroup
}

func newParticipants(b *testing.B, servers []string, name string, n int, form ...twopc.Option) *participants {
	b.Helper()
	path := pathFor(b, name)
	c, err := twopc.NewCoordinator(open(b, servers), path, form...)
	require.NoError(b, err)
	p := &participants{b: b, c: c}
	for i := range n {
		p.sites = append(p.sites, fmt.Sprint("site", i))
		s := open(b, servers)
		site, err := twopc.NewSite(s, path, p.sites[i])
		require.NoError(b, err)
		p.serve(s, site)
	}
	return p
}

// serve agrees to everything until the session is closed, with the benchmark's end.
func (p *participants) serve(s *session.Session, site *twopc.Site) {
	ctx := context.WithoutCancel(p.b.Context())
	go func() { // owned by the site: it ends with it
		for proposal := range site.Proposals() {
			go p.take(ctx, s, proposal) // the same
		}
	}()
}

func (p *participants) take(ctx context.Context, s *session.Session, proposal *twopc.Proposal) {
	if err := proposal.Commit(ctx); err != nil {
		p.complain(s, err)
		return
	}
	select {
	case <-proposal.Decided():
	case <-proposal.Done():
		p.complain(s, proposal.Err())
		return
	}
	if err := proposal.Ack(ctx); err != nil {
		p.complain(s, err)
		return
	}
	if all, ok := p.acked.Load(proposal.ID()); ok {
		all.(*sync.WaitGroup).Done()
	}
}

func (p *participants) complain(s *session.Session, err error) {
	if s.Err() == nil {
		p.b.Error(err)
	}
}

// commit commits one transaction and waits until all sites have acknowledged it.
func (p *participants) commit() {
	id := fmt.Sprint("t", p.last.Add(1))
	var all sync.WaitGroup
	all.Add(len(p.sites))
	p.acked.Store(id, &all)
	tx, err := p.c.Begin(p.b.Context(), id, []byte("a hundred bytes or so"), p.sites...)
	if err != nil {
		p.b.Error(err)
		return
	}
	<-tx.Done()
	if tx.Outcome() != twopc.Committed {
		p.b.Error(tx.Err())
		return
	}
	if err := tx.Ack(p.b.Context()); err != nil {
		p.b.Error(err)
	}
	all.Wait()
	p.acked.Delete(id)
}
