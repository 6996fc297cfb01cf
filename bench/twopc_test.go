package bench_test

// Two-phase commit, in both forms.

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
)

// BenchmarkTwoPhaseCommit is one transaction of n sites, from Begin until all have acknowledged, in
// both forms of ZooKeeper's recipe page, with the requests and the watch events that the server
// counted: of the order of n where the coordinator decides, of n² where the peers do.
func BenchmarkTwoPhaseCommit(b *testing.B) {
	for _, n := range []int{1, 2, 4, 8, 16, 32} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			servers, server := start(b)
			deciding := map[string]*participants{
				"coordinator": newParticipants(b, servers, "coordinator", n), "peers": newParticipants(b, servers, "peers", n, twopc.WithPeerDecision()),
			}
			for _, p := range deciding {
				p.commit() // the first one makes parents
			}
			spent, rounds := map[string]time.Duration{}, 0
			for b.Loop() {
				for name, p := range deciding {
					began := time.Now()
					p.commit()
					spent[name] += time.Since(began)
				}
				rounds++
			}
			b.StopTimer()
			for name, p := range deciding {
				const counted = 20
				c := during(b, server, func() {
					for range counted {
						p.commit()
					}
				})
				b.ReportMetric(float64(spent[name].Nanoseconds())/float64(rounds), name+"-ns/op")
				b.ReportMetric(float64(c.requests)/counted, name+"-requests/op")
				b.ReportMetric(float64(c.events)/counted, name+"-events/op")
			}
		})
	}
}

// BenchmarkTwoPhaseCommitThroughput is many transactions at once of one coordinator, with two
// sites.
func BenchmarkTwoPhaseCommitThroughput(b *testing.B) {
	servers, _ := start(b)
	p := newParticipants(b, servers, "many", 2)
	p.commit()
	b.SetParallelism(32)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			p.commit()
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "transactions/s")
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
	path := dirFor(b, strings.ReplaceAll(b.Name(), "/", "-")+"-"+name)
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
