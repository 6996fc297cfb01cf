// Package waits has one table: what waits for the word of ZooKeeper, and the errors that pass by
// themselves. Whatever meets one, at whichever of its requests, is told in the end what it waits
// for, or says that it has ended, and why.
//
//	waits_test.go   what waits
//	errors_test.go  the errors; and what is not asked for again without a pause
//	byhand_test.go  what is deleted by hand
package waits_test

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/recipes/config"
	"github.com/troupe-go/troupe/recipes/group"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/recipes/naming"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// passing are the codes that pass by themselves: whoever waits is told in the end. refusals are
// about what is asked, and pass when somebody puts something right: what says so in the table of
// waits ends, with an Err that is the refusal, and the others wait on.
var (
	passing = map[string]zktest.Code{
		"throttled": jute.ThrottledOp, "connection loss": jute.ConnectionLoss, "operation timeout": jute.OperationTimeout,
		"request timeout": jute.RequestTimeout, "session moved": jute.SessionMoved, "session expired": jute.SessionExpired,
		"unknown session": jute.UnknownSession,
	}
	refusals = map[string]zktest.Code{
		"no right": jute.NoAuth, "quota exceeded": jute.QuotaExceeded, "read only": jute.NotReadOnly, "system error": jute.SystemError,
		"unimplemented": jute.Unimplemented, "invalid ACL": jute.InvalidACL,
	}
)

const (
	// lasts is for how long an error comes in one of the two ways; else it comes once.
	lasts = 20 * time.Second
	// recovers is how long it may take until what is waited for is told of, when the errors are
	// over. A queue passes over what was refused for a minute.
	recovers = time.Minute + time.Second
)

func TestAPassingErrorEndsNoWait(t *testing.T) {
	t.Parallel()
	slice := 0
	for _, codes := range []map[string]zktest.Code{passing, refusals} {
		for _, code := range slices.Sorted(maps.Keys(codes)) {
			for _, name := range slices.Sorted(maps.Keys(waits)) {
				for _, stretch := range []time.Duration{0, lasts} {
					if slice++; slice%inGate != 0 && !tier.Soaking() {
						continue
					}
					t.Run(fmt.Sprintf("%s/%s for %v", name, code, stretch), func(t *testing.T) {
						t.Parallel()
						_, may := refusals[code]
						for k, more := 1, true; more; k++ {
							bubble.Run(t, func(b *bubble.World) {
								w := &world{b, b.Host("mine").Session, b.Host("other").Session}
								more = w.outlasts(waits[name](w), k, codes[code], stretch, may)
							}, bubble.Brisk()...)
						}
					})
				}
			}
		}
	}
}

// inGate: so much less is in the gate than in the soak.
const inGate = 7

// outlasts has the k-th request of what waits fail, and all behind it for a stretch. It tells
// whether it came to that.
func (w *world) outlasts(what wait, k int, code zktest.Code, stretch time.Duration, mayEnd bool) (met bool) {
	time.Sleep(time.Second)
	synctest.Wait()
	var mu sync.Mutex
	var until time.Time
	n, other := 0, w.other.Status().SessionID
	w.Cleanup(w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
		mu.Lock()
		defer mu.Unlock()
		if r.SessionID == other || r.Op == zktest.OpPing || r.Op == zktest.OpConnect {
			return zktest.Pass
		}
		if n++; n == k {
			until = time.Now().Add(stretch)
		}
		if n == k || time.Now().Before(until) {
			return zktest.Fail(code)
		}
		return zktest.Pass
	}))
	told := what.begin()
	time.Sleep(5 * time.Second)
	what.cause()
	select {
	case <-told:
	case <-time.After(stretch + recovers):
		var err error
		if what.err != nil {
			err = what.err()
		}
		require.True(w, mayEnd && what.ends && err != nil, "request %d: it waits for ever, or has ended: %v\n%s", k, err, w.Server.Dump())
	}
	mu.Lock()
	defer mu.Unlock()
	return n >= k
}

// Every method that returns a channel is in the table, or asks nothing.
func TestEveryWaitIsInTheTable(t *testing.T) {
	t.Parallel()
	tested := make(map[string]bool)
	for name := range waits {
		for _, method := range methods(name) {
			tested[method] = true
		}
	}
	for _, name := range channels(t) {
		_, nothing := asksNothing[name]
		require.NotEqual(t, tested[name], nothing, "%s: a row, or a reason why it needs none", name)
	}
}

// channels are the exported methods that return a channel.
func channels(t *testing.T) (names []string) {
	for _, pattern := range []string{"actors/*.go", "session/*.go", "recipe/*.go", "recipes/[a-z]*/*.go", "fxmodule/*.go"} {
		files, err := filepath.Glob("../../" + pattern)
		require.NoError(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "../../recipes/internal/") {
				continue
			}
			tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			require.NoError(t, err)
			for _, d := range tree.Decls {
				f, is := d.(*ast.FuncDecl)
				if !is || f.Recv == nil || !f.Name.IsExported() || f.Type.Results == nil {
					continue
				}
				_, channel := f.Type.Results.List[0].Type.(*ast.ChanType)
				if of := receiver(f.Recv.List[0].Type); channel && ast.IsExported(of) {
					names = append(names, filepath.Base(filepath.Dir(file))+"."+of+"."+f.Name.Name)
				}
			}
		}
	}
	require.Greater(t, len(names), 40)
	return names
}

func receiver(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.StarExpr:
		return receiver(of.X)
	case *ast.IndexExpr:
		return receiver(of.X)
	case *ast.Ident:
		return of.Name
	}
	return ""
}

// repeats are what happens again and again, at each request.
var repeats = map[string]struct {
	verdict func(w *world, r *zktest.Request) zktest.Verdict
	wants   func(w *world) // nil: a lock
	says    string         // the warning
}{
	"the server accepts, and closes": {
		verdict: func(_ *world, r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpConnect {
				return zktest.Pass
			}
			return zktest.CutBefore
		},
		says: lostSoon,
	},
	"the server answers, and closes":        {verdict: after(time.Millisecond, (*zktest.Server).Disconnect), says: lostSoon},
	"the session ends at its first request": {verdict: after(0, (*zktest.Server).Expire), says: endsSoon},
	"the session ends when it has begun":    {verdict: after(time.Millisecond, (*zktest.Server).Expire), says: endsSoon},
	"what is created has no number": {
		verdict: func(*world, *zktest.Request) zktest.Verdict { return zktest.Pass },
		says:    "what answers is no ZooKeeper server, or a wrong one",
	},
	"a contender vanishes": {verdict: vanishes("-lock-"), says: goneAtOnce},
	"a member vanishes":    {verdict: vanishes("mine"), wants: joinsGroup, says: goneAtOnce},
	"a party vanishes":     {verdict: vanishes("-party-"), wants: func(w *world) { must(barrier.NewDouble(w.mine, at, 2)).Arrive() }, says: goneAtOnce},
	"a consumer vanishes":  {verdict: vanishes("/consumers/"), wants: func(w *world) { must(must(queue.New(w.mine, at)).Consume()) }, says: goneAtOnce},
	"what is released has vanished": { // so that nothing is deleted, and the next znode is one more in a row
		verdict: func(_ *world, r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpGetData {
				return zktest.Delay(10 * time.Millisecond)
			}
			return zktest.Pass
		},
		wants: func(w *world) {
			l := must(lock.New(w.mine, at, lock.WithLayout(lock.Simple)))
			pass := func(d time.Duration) {
				select {
				case <-time.After(d):
				case <-w.Context().Done():
				}
			}
			go func() { // ends with the test
				for g, err := l.Lock(w.Context()); err == nil; g, err = l.Lock(w.Context()) {
					pass(20 * time.Millisecond) // until it is watched
					_ = w.Server.Znodes(w).Delete(at)
					pass(time.Millisecond) // the event is there, and the answer to the read that it causes is not
					_ = g.Release(w.Context())
				}
			}()
		},
		says: goneAtOnce,
	},
	"the parent vanishes": {verdict: vanishes("/x"), says: goneAtOnce},
	"what is above a name vanishes": {
		verdict: vanishes("/x"), says: goneAtOnce,
		wants: func(w *world) {
			names := must(naming.New(w.mine, at))
			go func() { _ = names.Bind(w.Context(), "a", []byte("1")) }() // ends with the test
		},
	},
	"what is above a value vanishes": {
		verdict: vanishes("/x"), says: goneAtOnce,
		wants: func(w *world) {
			cell := must(config.New(w.mine, at+"/a", config.Text()))
			go func() { // ends with the test
				_, _ = cell.Update(w.Context(), func(string) (string, error) { return "1", nil })
			}()
		},
	},
	"what is watched is there by turns": {
		verdict: func(w *world, r *zktest.Request) zktest.Verdict {
			_, _ = w.Server.Znodes(w).Create("/waits", nil), w.Server.Znodes(w).Delete(at) // it may be there, or not
			if r.Op == zktest.OpExists {
				require.NoError(w, w.Server.Znodes(w).Create(at, nil))
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

func joinsGroup(w *world) { must(must(group.New(w.mine, at)).Join(group.Member{Name: "mine"})) }

// vanishes deletes what has that in its path before each request.
func vanishes(what string) func(w *world, r *zktest.Request) zktest.Verdict {
	return func(w *world, r *zktest.Request) zktest.Verdict {
		for _, one := range w.below(at) {
			if strings.Contains(strings.TrimPrefix(one, "/waits"), what) {
				for _, b := range slices.Backward(w.below(one)) {
					_ = w.Server.Znodes(w).Delete(b) // it may be gone with what is above
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
					return r.verdict(w, ask)
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
