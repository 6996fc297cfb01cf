package fxmodule_test

// The log of a service while all is well. The table of docs/operations.md is compared with it.
// Helpers: app_test.go.

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/troupe-go/troupe/fxmodule"
	"github.com/troupe-go/troupe/fxmodule/fxtest"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// tally counts the lines of a log, from Info up.
type tally struct {
	mu    sync.Mutex
	lines map[string]int // by level and message, as rows of a table
}

func (c *tally) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

func (c *tally) Handle(_ context.Context, r slog.Record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines[fmt.Sprintf("| %s | `%s` |", strings.ToLower(r.Level.String()), r.Message)]++
	return nil
}

func (c *tally) WithAttrs([]slog.Attr) slog.Handler { return c }
func (c *tally) WithGroup(string) slog.Handler      { return c }

// counted are the lines since the last call.
func (c *tally) counted() map[string]int {
	synctest.Wait() // lines are handed over a little later
	c.mu.Lock()
	defer c.mu.Unlock()
	lines := c.lines
	c.lines = make(map[string]int)
	return lines
}

// replica is a process of the service: it leads by turns, has a lock for as long as it runs, and
// works on jobs of a minute, which the leader puts.
type replica struct {
	t       *testing.T
	srv     *zktest.Server
	log     tally
	app     *fx.App
	session *session.Session
}

// stopping is as much time as the service has to stop.
const stopping = 2 * time.Minute

// start returns a minute after the start, when the replica has its lock and all is quiet.
func (r *replica) start() {
	r.app = fx.New(quiet, fxmodule.Module, fx.Supply(fxmodule.Default("zk.example:2181"), slog.New(&r.log)), fxtest.Server(r.srv),
		fx.StopTimeout(stopping), fx.Populate(&r.session),
		fxmodule.Election("reports", "/reports"), fxmodule.Queue("jobs", "/jobs"), fxmodule.Lock("shard", "/shard"),
		fxmodule.RunLeader("reports", func(ctx context.Context, _ *election.Term, in struct {
			fx.In
			Jobs *queue.Queue `name:"jobs"`
		},
		) error {
			for {
				select {
				case <-time.After(10 * time.Minute):
					if _, err := in.Jobs.Put(ctx, nil); err != nil {
						return err
					}
				case <-ctx.Done():
					return nil
				}
			}
		}),
		fxmodule.Consume("jobs", 2, func(context.Context, *queue.Item) error {
			time.Sleep(time.Minute)
			return nil
		}),
		fx.Invoke(func(lc fx.Lifecycle, in struct {
			fx.In
			Shard *lock.Lock `name:"shard"`
		},
		) {
			lc.Append(fx.StartHook(func() {
				in.Shard.Acquire()
				go func() { // ends with the lock
					for {
						select {
						case g := <-in.Shard.Acquired():
							<-g.Done()
						case <-in.Shard.Done():
							return
						}
					}
				}()
			}))
		}))
	require.NoError(r.t, r.app.Start(r.t.Context()))
	time.Sleep(time.Minute)
}

func (r *replica) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), stopping)
	defer cancel()
	require.NoError(r.t, r.app.Stop(ctx))
}

// id is the number of its ZooKeeper session.
func (r *replica) id() int64 { return r.session.Status().SessionID }

// restart restarts the servers one by one: first the one that the replica is connected to, then the
// one to which it has not moved, then the one to which it has. So it always moves twice, whichever
// server it draws.
func (r *replica) restart() {
	left := r.srv.Hosts()
	for _, connected := range []bool{true, false, true} {
		next := slices.IndexFunc(left, func(host string) bool { return (host == r.session.Status().Server) == connected })
		i := slices.Index(r.srv.Hosts(), left[next])
		left = slices.Delete(left, next, next+1)
		r.srv.Kill(i)
		time.Sleep(30 * time.Second)
		require.NoError(r.t, r.srv.Restart(i))
		time.Sleep(time.Minute)
	}
}

// A day in which all is well: an alert on warnings is quiet, and the page has what else is logged.
// In soak it is a week of such days.
func TestALogIsQuietWhileAllIsWell(t *testing.T) {
	t.Parallel()
	page := must(os.ReadFile("../docs/operations.md"))
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.Start(t, zktest.WithServers(3), zktest.WithSeed(1), zktest.WithJournal(0))
		first, second := &replica{t: t, srv: srv, log: tally{lines: make(map[string]int)}}, &replica{t: t, srv: srv, log: tally{lines: make(map[string]int)}}
		both := []*replica{first, second}
		for _, r := range both {
			r.start()
			defer r.stop()
		}
		for day := range tier.Count(1, 7) {
			for _, r := range both {
				r.log.counted()
			}
			for hour := range 24 {
				next := time.Now().Add(time.Hour)
				switch {
				case hour == 3:
					first.restart()
				case hour%6 == 1: // a deploy
					for _, r := range both {
						r.stop()
						r.start()
					}
				case hour%6 == 4: // the network closes connections
					for _, r := range both {
						srv.Disconnect(r.id())
					}
				case hour%3 == 2: // the network is silent
					for _, r := range both {
						heal := srv.Partition(r.id())
						time.Sleep(2 * time.Second)
						heal()
					}
				}
				time.Sleep(time.Until(next))
			}
			lines := first.log.counted()
			var table strings.Builder
			for _, row := range slices.Sorted(maps.Keys(lines)) {
				fmt.Fprintf(&table, "%s %d |\n", row, lines[row])
			}
			_, written, _ := strings.Cut(string(page), "| level | message | lines a day |\n|---|---|---|\n")
			written, _, _ = strings.Cut(written, "\n\n")
			require.Equal(t, table.String(), written+"\n", "day %d", day)
			for _, log := range []map[string]int{lines, second.log.counted()} {
				for row := range log {
					require.Regexp(t, `^\| info `, row, "day %d", day)
				}
			}
		}
	})
}
