package bench_test

// The double barrier, beside the recipe of ZooKeeper's page.

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

const barrierParties = 64

// BenchmarkDoubleBarrier is a whole round of 64 parties, each with a session of its own: all enter,
// all leave. Beside it the recipe of ZooKeeper's page on a bare client, which has no rounds (each
// is given a fresh path), strands a slow party, and leaves early if the lowest dies. What the
// servers count for each party and round includes the pings and syncs of 64 sessions.
func BenchmarkDoubleBarrier(b *testing.B) {
	for _, n := range []int{1, 3} {
		b.Run(fmt.Sprint("servers=", n), func(b *testing.B) {
			e := ensemble.Start(b, n)
			troupe, page := troupeRound(b, e.Servers()), pageRound(b, e.Servers())
			var spent [2]time.Duration
			rounds := 0
			troupe()
			page()
			for b.Loop() {
				for i, round := range []func(){troupe, page} {
					began := time.Now()
					round()
					spent[i] += time.Since(began)
				}
				rounds++
			}
			b.StopTimer()
			for i, form := range []string{"troupe", "page"} {
				b.ReportMetric(float64(spent[i].Nanoseconds())/float64(rounds), form+"-ns/op")
				const counted = 10
				c := during(b, e, func() {
					for range counted {
						[]func(){troupe, page}[i]()
					}
				})
				requests, events := float64(c.requests)/(counted*barrierParties), float64(c.events)/(counted*barrierParties)
				b.ReportMetric(requests, form+"-requests/party")
				b.ReportMetric(events, form+"-events/party")
				if form == "troupe" { // the figure
					require.LessOrEqual(b, requests, 7.0, "requests for each party and round")
					require.LessOrEqual(b, events, 3.0, "watch events for each party and round")
				}
			}
			b.ReportMetric(float64(spent[1])/float64(spent[0]), "page/troupe")
		})
	}
}

// together lets all parties do the same at once.
func together(party func(i int)) {
	var all sync.WaitGroup
	for i := range barrierParties {
		all.Go(func() { party(i) })
	}
	all.Wait()
}

func troupeRound(b *testing.B, servers []string) func() {
	b.Helper()
	doubles := make([]*barrier.Double, barrierParties)
	for i := range doubles {
		d, err := barrier.NewDouble(open(b, servers), dirFor(b, "troupe"), barrierParties, barrier.WithID(fmt.Sprint("p", i)))
		require.NoError(b, err)
		doubles[i] = d
	}
	passages := make([]*barrier.Passage, barrierParties)
	failures := make([]error, barrierParties)
	return func() {
		together(func(i int) {
			if passages[i], failures[i] = doubles[i].Enter(b.Context()); failures[i] == nil {
				failures[i] = passages[i].Leave(b.Context())
			}
		})
		for _, err := range failures {
			require.NoError(b, err)
		}
	}
}

// pageRound is the double barrier of ZooKeeper's recipe page.
func pageRound(b *testing.B, servers []string) func() {
	b.Helper()
	clients := make([]*raw, barrierParties)
	parent := dirFor(b, "page")
	for i := range clients {
		clients[i] = newRaw(b, servers, parent)
	}
	round := 0
	return func() {
		round++
		dir := fmt.Sprint(parent, "/", round)
		_, err := clients[0].conn.Create(dir, nil, 0, zk.WorldACL(zk.PermAll))
		require.NoError(b, err)
		failures := make([]error, barrierParties)
		together(func(i int) { failures[i] = clients[i].page(dir, i) })
		for _, err := range failures {
			require.NoError(b, err)
		}
	}
}

func (r *raw) page(dir string, i int) error {
	ready, own := dir+"/ready", fmt.Sprintf("%s/p%02d", dir, i)
	_, _, opened, err := r.conn.ExistsW(ready)
	if err != nil {
		return err
	}
	if _, err := r.conn.Create(own, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
		return err
	}
	names, _, err := r.conn.Children(dir)
	if err != nil {
		return err
	}
	if len(names) >= barrierParties {
		if _, err := r.conn.Create(ready, nil, 0, zk.WorldACL(zk.PermAll)); err != nil && err != zk.ErrNodeExists {
			return err
		}
	}
	<-opened
	return r.pageLeave(dir, own)
}

func (r *raw) pageLeave(dir, own string) error {
	deleted := false
	for {
		names, _, err := r.conn.Children(dir)
		if err != nil {
			return err
		}
		names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, "p") })
		slices.Sort(names)
		switch {
		case len(names) == 0:
			return nil
		case len(names) == 1 && names[0] == path.Base(own):
			return r.conn.Delete(own, -1)
		}
		watched := names[0]
		if watched == path.Base(own) {
			watched = names[len(names)-1]
		} else if !deleted {
			if err := r.conn.Delete(own, -1); err != nil {
				return err
			}
			deleted = true
		}
		there, _, gone, err := r.conn.ExistsW(dir + "/" + watched)
		if err != nil {
			return err
		}
		if there {
			<-gone
		}
	}
}
