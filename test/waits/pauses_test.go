package waits_test

// What looks like a success, and is followed by the same again, is not asked for without a pause.

import (
	"context"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/recipes/config"
	"github.com/troupe-go/troupe/recipes/group"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/recipes/naming"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// repeats are what happens again and again.
var repeats = map[string]struct {
	judge func(w *world, r *zktest.Request) zktest.Verdict
	opts  []session.Option
	wants func(w *world) // nil: a lock
	says  string         // the warning
}{
	"the server accepts, and closes": {
		judge: func(_ *world, r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpConnect {
				return zktest.Pass
			}
			return zktest.CutBefore
		},
		says: lostSoon,
	},
	"the server answers, and closes":        {judge: after(time.Millisecond, (*zktest.Server).Disconnect), says: lostSoon},
	"the session ends at its first request": {judge: after(0, (*zktest.Server).Expire), says: endsSoon},
	"the session ends when it has begun":    {judge: after(time.Millisecond, (*zktest.Server).Expire), says: endsSoon},
	"what is created has no number": {
		judge: func(*world, *zktest.Request) zktest.Verdict { return zktest.Pass },
		says:  "what answers is no ZooKeeper server, or a wrong one",
	},
	"a contender vanishes": {judge: vanishes("-lock-"), says: goneAtOnce},
	"a member vanishes":    {judge: vanishes("mine"), wants: joinsGroup, says: goneAtOnce},
	"a party vanishes":     {judge: vanishes("-party-"), wants: func(w *world) { must(barrier.NewDouble(w.mine, at, 2)).Arrive() }, says: goneAtOnce},
	"a consumer vanishes":  {judge: vanishes("/consumers/"), wants: func(w *world) { must(must(queue.New(w.mine, at)).Consume()) }, says: goneAtOnce},
	"the parent vanishes":  {judge: vanishes("/x"), says: goneAtOnce},
	"what is above a name vanishes": {
		judge: vanishes("/x"), says: goneAtOnce,
		wants: func(w *world) {
			names := must(naming.New(w.mine, at))
			go func() { _ = names.Bind(w.Context(), "a", []byte("1")) }() // ends with the test
		},
	},
	"what is above a value vanishes": {
		judge: vanishes("/x"), says: goneAtOnce,
		wants: func(w *world) {
			cell := must(config.New(w.mine, at+"/a", config.Text()))
			go func() { // ends with the test
				_, _ = cell.Update(w.Context(), func(string) (string, error) { return "1", nil })
			}()
		},
	},
	"what is watched is there by turns": {
		judge: func(w *world, r *zktest.Request) zktest.Verdict {
			_, _ = w.Server.Create("/waits", nil), w.Server.Delete(at) // it may be there, or not
			if r.Op == zktest.OpExists {
				require.NoError(w, w.Server.Create(at, nil))
			}
			return zktest.Pass
		},
		wants: func(w *world) { w.mine.WatchData(w.Context(), at) }, says: "can't watch; trying again",
	},
}

const (
	lostSoon   = "connections to ZooKeeper are lost soon after they are made"
	endsSoon   = "ZooKeeper sessions end soon after they have begun"
	goneAtOnce = "what was created is gone at once"
)

// after does something so long after each request.
func after(d time.Duration, does func(s *zktest.Server, session int64)) func(w *world, r *zktest.Request) zktest.Verdict {
	return func(w *world, r *zktest.Request) zktest.Verdict {
		switch {
		case r.Op == zktest.OpConnect:
		case d == 0:
			does(w.Server, r.SessionID)
		default:
			time.AfterFunc(d, func() { does(w.Server, r.SessionID) })
		}
		return zktest.Pass
	}
}

func joinsGroup(w *world) { must(must(group.New(w.mine, at)).Join(group.Member{ID: "mine"})) }

// vanishes deletes what has that in its path before each request.
func vanishes(what string) func(w *world, r *zktest.Request) zktest.Verdict {
	return func(w *world, r *zktest.Request) zktest.Verdict {
		for _, one := range w.below(at) {
			if strings.Contains(strings.TrimPrefix(one, "/waits"), what) {
				for _, b := range slices.Backward(w.below(one)) {
					_ = w.Server.Delete(b) // it may be gone with what is above
				}
			}
		}
		return zktest.Pass
	}
}

// numberless is a connection over which numbers of contenders come as something else.
type numberless struct{ net.Conn }

var numbered = regexp.MustCompile(`-lock-[0-9]{10}`)

func (c numberless) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	copy(p[:n], numbered.ReplaceAll(p[:n], []byte("-lock-number-no1")))
	return n, err
}

func TestNothingIsAskedWithoutAPause(t *testing.T) {
	t.Parallel()
	for name, r := range repeats {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(b *bubble.World) {
				var log bubble.Log
				opts := []session.Option{log.Option()}
				if name == "what is created has no number" {
					dial := b.Server.Host("mine").Dialer()
					opts = append(opts, session.WithDialer(func(ctx context.Context, network, address string) (net.Conn, error) {
						c, err := dial(ctx, network, address)
						return numberless{c}, err
					}))
				}
				w := &world{World: b, mine: b.Host("mine", opts...).Session}
				var asked atomic.Int64
				w.Cleanup(w.Server.Intercept(func(ask *zktest.Request) zktest.Verdict {
					if ask.Op == zktest.OpPing {
						return zktest.Pass
					}
					if asked.Add(1) > 20_000 {
						return zktest.Delay(time.Hour) // it has failed
					}
					return r.judge(w, ask)
				}))
				if r.wants == nil {
					must(lock.New(w.mine, at)).Acquire()
				} else {
					r.wants(w)
				}
				const seconds = 20
				time.Sleep(seconds * time.Second)
				t.Logf("%.1f requests a second", float64(asked.Load())/seconds)
				require.Less(w, asked.Load(), int64(seconds*mostRequests), "requests in %d s", seconds)
				require.Equal(w, 1, log.Count(r.says))
				for _, other := range []string{lostSoon, endsSoon, goneAtOnce} {
					require.True(w, other == r.says || log.Count(other) == 0, "that is not what happens: %s", other)
				}
			}, bubble.Brisk()...)
		})
	}
}

// mostRequests are those of ten tries a second: each has some.
const mostRequests = 50
