package lock_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
)

// No deadlock: whoever takes overlapping sets in whatever order of naming gets them, and never two
// at once one lock.
func TestMultisDoNotWaitInACircle(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		inBubble(t, func(w *world) {
			paths := []string{"/m/a", "/m/b", "/m/c", "/m/d", "/m/e"}
			inside := make([]int, len(paths))
			last := make([]int64, len(paths))
			var mu sync.Mutex
			slow := w.Server.Intercept(bubble.Slowly(seed))
			defer slow()
			var clients sync.WaitGroup
			for c := range 4 {
				h := w.Host(fmt.Sprint("h", c))
				rng := rand.New(rand.NewPCG(seed, uint64(c)))
				clients.Go(func() {
					for range 10 {
						named := rng.Perm(len(paths))[:1+rng.IntN(len(paths)-1)]
						var locks []*lock.Lock
						for _, i := range named {
							locks = append(locks, w.at(h, paths[i]))
						}
						m, err := lock.NewMulti(locks...)
						if err != nil {
							w.Error(err)
							return
						}
						ctx, cancel := context.WithTimeout(w.Context(), time.Duration(1+rng.IntN(10))*time.Second)
						err = m.Do(ctx, func(ctx context.Context, g *lock.MultiGrant) error {
							mu.Lock()
							for _, i := range named {
								inside[i]++
								if inside[i] != 1 {
									w.Errorf("two hold %s", paths[i])
								}
							}
							for _, part := range g.Grants() {
								i := strings.IndexByte("abcde", part.Path()[3])
								if part.Token() <= last[i] {
									w.Errorf("a token of %s did not grow", paths[i])
								}
								last[i] = part.Token()
							}
							mu.Unlock()
							time.Sleep(time.Duration(rng.Int64N(int64(100 * time.Millisecond))))
							mu.Lock()
							defer mu.Unlock()
							for _, i := range named {
								inside[i]--
							}
							return nil
						})
						cancel()
						if err != nil && !errors.Is(err, context.DeadlineExceeded) {
							w.Error(err)
						}
						for _, l := range locks {
							if err := l.Close(w.Context()); err != nil {
								w.Error(err)
							}
						}
					}
				})
			}
			clients.Wait()
			require.Zero(w, w.standing())
		})
	}
}
