package bubble

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// Fates are the ways in which a request or its reply can be lost.
var Fates = map[string]zktest.Verdict{
	"reply dropped": zktest.DropReply, "request dropped": zktest.DropRequest,
	"cut after": zktest.CutAfter, "cut before": zktest.CutBefore,
}

// EachFate runs a test in bubbles, again and again, with k = 1, 2, …, until each request of a
// session has met each fate: the last run has fewer than k requests. The test has to call strike
// with that session once; from then on its requests count, and the k-th meets the fate.
func EachFate(t *testing.T, test func(w *World, k int, strike func(s *session.Session)), opts ...zktest.Option) {
	t.Helper()
	for name, fate := range Fates {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for k, more := 1, true; more; k++ {
				Run(t, func(w *World) {
					met := func() bool {
						w.Error("the test has not called strike")
						return false
					}
					test(w, k, func(s *session.Session) { met = w.Kth(s, k, fate) })
					more = met()
				}, opts...)
			}
		})
	}
}

// Kth lets the k-th request of a session meet a fate, counted from now on, without pings,
// handshakes and the uncounted operations. met reports whether there were k requests; after it was
// called none meets the fate any more.
func (w *World) Kth(s *session.Session, k int, fate zktest.Verdict, uncounted ...zktest.Op) (met func() bool) {
	return w.AtKth(s, k, func(*zktest.Request) zktest.Verdict { return fate }, uncounted...)
}

// AtKth is Kth with a function that decides on the fate when the k-th request arrives. met waits
// for that function, so it is to be called before the test closes what the function needs.
func (w *World) AtKth(s *session.Session, k int, decide func(*zktest.Request) zktest.Verdict, uncounted ...zktest.Op) (met func() bool) {
	var mu sync.Mutex
	var deciding sync.WaitGroup
	id, n, asked := s.Status().SessionID, 0, false
	isKth := func(r *zktest.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if asked || r.SessionID != id || keepsAlive(r.Op) || slices.Contains(uncounted, r.Op) {
			return false
		}
		if n++; n != k {
			return false
		}
		deciding.Add(1)
		return true
	}
	w.Cleanup(w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
		if !isKth(r) {
			return zktest.Pass
		}
		defer deciding.Done()
		return decide(r)
	}))
	return func() bool {
		mu.Lock()
		asked = true
		mu.Unlock()
		deciding.Wait()
		return n >= k
	}
}

// Slowly lets each request take up to 20 ms, as on a network, so that virtual time passes.
func Slowly(seed uint64) func(*zktest.Request) zktest.Verdict {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, 7))
	return func(r *zktest.Request) zktest.Verdict {
		if keepsAlive(r.Op) {
			return zktest.Pass
		}
		mu.Lock()
		defer mu.Unlock()
		return zktest.Delay(time.Duration(rng.Int64N(int64(20 * time.Millisecond))))
	}
}

// keepsAlive is true for operations that only keep a session.
func keepsAlive(op zktest.Op) bool { return op == zktest.OpPing || op == zktest.OpConnect }
