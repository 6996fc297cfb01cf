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
	"github.com/troupe-go/troupe/recipes/group"
	"github.com/troupe-go/troupe/recipes/lock"
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
		says: "connections to ZooKeeper are lost soon after they are made",
	},
	"the server answers, and closes": {
		judge: func(w *world, r *zktest.Request) zktest.Verdict {
			if r.Op != zktest.OpConnect {
				time.AfterFunc(time.Millisecond, func() { w.Server.Disconnect(r.SessionID) })
			}
			return zktest.Pass
		},
		says: "connections to ZooKeeper are lost soon after they are made",
	},
	"the session ends at its first request": {
		judge: func(w *world, r *zktest.Request) zktest.Verdict {
			if r.Op != zktest.OpConnect {
				w.Server.Expire(r.SessionID)
			}
			return zktest.Pass
		},
		says: "ZooKeeper sessions end soon after they have begun",
	},
	"the session ends when it has begun": {
		judge: func(w *world, r *zktest.Request) zktest.Verdict {
			if r.Op != zktest.OpConnect {
				time.AfterFunc(time.Millisecond, func() { w.Server.Expire(r.SessionID) })
			}
			return zktest.Pass
		},
		says: "ZooKeeper sessions end soon after they have begun",
	},
	"what is created has no number": {
		judge: func(*world, *zktest.Request) zktest.Verdict { return zktest.Pass },
		says:  "what answers is no ZooKeeper server, or a wrong one",
	},
	"a contender vanishes": {judge: vanishes("-lock-"), says: "what was created is gone at once"},
	"a member vanishes":    {judge: vanishes("mine"), wants: joinsGroup, says: "what was created is gone at once"},
	"a party vanishes":     {judge: vanishes("-party-"), wants: func(w *world) { must(barrier.NewDouble(w.mine, at, 2)).Arrive() }, says: "what was created is gone at once"},
	"a consumer vanishes":  {judge: vanishes("/consumers/"), wants: func(w *world) { must(must(queue.New(w.mine, at)).Consume()) }, says: "what was created is gone at once"},
	"the parent vanishes":  {judge: vanishes("/x"), says: "what was created is gone at once"},
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
			}, bubble.Brisk()...)
		})
	}
}

// mostRequests are those of ten tries a second: each has some.
const mostRequests = 50
