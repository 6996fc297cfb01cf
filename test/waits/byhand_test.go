package waits_test

// Parts of what a recipe has in ZooKeeper are deleted by hand, in every order. A recipe that learns
// that what it has claimed, holds or waits for is gone takes its own znodes along: others go on
// while its session lives, and nothing of it is left. Helpers: waits_test.go.

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/group"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
)

// belonging is something that a session has in ZooKeeper.
type belonging struct {
	learn func()                 // it does what shows it that something is gone
	next  func() <-chan struct{} // others go on; closes when they have
	close func()
}

// belongings are made by w.mine, before something is deleted.
var belongings = map[string]func(w *world) belonging{
	"lock":         holdsLock(lockAs(lock.New)),
	"delayed lock": holdsLock(lockAs(lock.New, lock.WithDelay(time.Second))),
	"simple lock":  holdsLock(lockAs(lock.New, lock.WithLayout(lock.Simple))),
	"write lock":   holdsLock(lockAs(lock.NewWrite)),
	"semaphore":    holdsLock(func(s *session.Session) *lock.Lock { return must(lock.NewSemaphore(s, at, 1)) }),
	"waiting lock": func(w *world) belonging {
		first, mine := must(must(lock.New(w.other, at)).Lock(w.Context())), must(lock.New(w.mine, at))
		mine.Acquire()
		return belonging{
			learn: func() {
				_ = first.Release(w.Context()) // it may be gone
				bubble.Get(w, mine.Acquired())
				require.NoError(w, mine.Withdraw(w.Context()))
			},
			next: locks(w, lockAs(lock.New)), close: func() { require.NoError(w, mine.Close(bubble.Minute(w))) },
		}
	},
	"term": func(w *world) belonging {
		mine := must(election.New(w.mine, at))
		term := must(mine.Lead(w.Context()))
		return belonging{
			learn: func() { _ = term.Ready(w.Context()); _ = term.Resign(w.Context()) },
			next: func() <-chan struct{} {
				e := must(election.New(w.other, at))
				e.Campaign()
				return heard(w, e.Leader(), some)
			},
			close: func() { require.NoError(w, mine.Close(bubble.Minute(w))) },
		}
	},
	"queue item": func(w *world) belonging {
		q, other := must(queue.New(w.mine, at)), must(queue.New(w.other, at))
		must(other.Put(w.Context(), []byte("old"), queue.WithID("old")))
		mine := must(q.Consume())
		item := bubble.Get(w, mine.Items())
		return belonging{
			learn: func() { _ = item.Ack(w.Context()) },
			next: func() <-chan struct{} {
				must(other.Put(w.Context(), []byte("new")))
				is := func(i *queue.Item) bool { return i.Ack(w.Context()) == nil && string(i.Data()) == "new" }
				return w.either(heard(w, mine.Items(), is), heard(w, must(other.Consume()).Items(), is))
			},
			close: func() { require.NoError(w, mine.Close(bubble.Minute(w))) },
		}
	},
	"passage": func(w *world) belonging {
		mine, other := must(barrier.NewDouble(w.mine, at, 2)), must(barrier.NewDouble(w.other, at, 2))
		mine.Arrive()
		other.Arrive()
		m, o := bubble.Get(w, mine.Entered()), bubble.Get(w, other.Entered())
		return belonging{
			learn: func() { m.Depart(); o.Depart(); w.soon(m.Left()); w.soon(o.Left()) },
			next: func() <-chan struct{} {
				third := must(barrier.NewDouble(w.other, at, 2))
				other.Arrive()
				third.Arrive()
				return heard(w, third.Entered(), some)
			},
			close: func() { require.NoError(w, mine.Close(bubble.Minute(w))) },
		}
	},
	"arrival": func(w *world) belonging {
		mine := must(barrier.NewDouble(w.mine, at, 2))
		mine.Arrive()
		return belonging{
			learn: nothing,
			next: func() <-chan struct{} {
				other := must(barrier.NewDouble(w.other, at, 2))
				other.Arrive()
				return heard(w, other.Entered(), some)
			},
			close: func() { require.NoError(w, mine.Close(bubble.Minute(w))) },
		}
	},
	"membership": func(w *world) belonging {
		mine := must(must(group.New(w.mine, at)).Join(group.Member{Name: "x"}))
		w.soon(mine.Joined())
		return belonging{
			learn: func() { require.NoError(w, mine.Leave(w.Context())) },
			next: func() <-chan struct{} {
				return must(must(group.New(w.other, at)).Join(group.Member{Name: "x"})).Joined()
			},
			close: nothing,
		}
	},
	"transaction": func(w *world) belonging {
		c, mine, b := must(twopc.NewCoordinator(w.mine, at, twopc.WithVoteTimeout(10*time.Second))), must(twopc.NewSite(w.mine, at, "a")), must(twopc.NewSite(w.other, at, "b"))
		votes(w, mine)
		votes(w, b)
		t := must(c.Begin(w.Context(), "t", nil, "a", "b"))
		return belonging{
			learn: func() { w.soon(t.Done()) },
			next: func() <-chan struct{} {
				return must(must(twopc.NewCoordinator(w.other, at)).Begin(w.Context(), "new", nil, "a", "b")).Decided()
			},
			close: func() {
				_ = c.Close(bubble.Minute(w))
				_ = mine.Close(bubble.Minute(w))
			},
		}
	},
}

func votes(w *world, s *twopc.Site) {
	go func() { // ends with the test
		for {
			select {
			case p := <-s.Proposals():
				if p == nil {
					return
				}
				_ = p.VoteCommit(w.Context())
			case <-w.Context().Done():
				return
			}
		}
	}()
}

func holdsLock(made func(s *session.Session) *lock.Lock) func(w *world) belonging {
	return func(w *world) belonging {
		mine := made(w.mine)
		g := must(mine.Lock(w.Context()))
		return belonging{
			learn: func() { _ = g.Release(w.Context()) },
			next:  locks(w, made), close: func() { require.NoError(w, mine.Close(bubble.Minute(w))) },
		}
	}
}

func locks(w *world, made func(s *session.Session) *lock.Lock) func() <-chan struct{} {
	return func() <-chan struct{} {
		l := made(w.other)
		l.Acquire()
		return heard(w, l.Acquired(), some)
	}
}

// either closes when one of two does.
func (w *world) either(a, b <-chan struct{}) <-chan struct{} {
	var one notify.Latch
	go func() { // ends with the test
		select {
		case <-a:
			one.Close()
		case <-b:
			one.Close()
		case <-w.Context().Done():
		}
	}()
	return one.C()
}

// soon waits for a latch, or for as long as it may take.
func (w *world) soon(c <-chan struct{}) {
	select {
	case <-c:
	case <-time.After(time.Minute):
	}
}

func TestWhatBelongsToNothingIsCleared(t *testing.T) {
	t.Parallel()
	for name, made := range belongings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := func(do func(w *world, s belonging)) {
				bubble.Run(t, func(b *bubble.World) {
					w := &world{b, b.Host("mine").Session, b.Host("other").Session}
					s := made(w)
					time.Sleep(time.Second)
					synctest.Wait()
					do(w, s)
				}, bubble.Brisk()...)
			}
			n := 0
			in(func(w *world, _ belonging) { n = len(w.below(at)) })
			for _, order := range orders(n, tier.Count(2, 3)) {
				in(func(w *world, s belonging) { w.clears(s, order) })
			}
		})
	}
}

// clears deletes some of what there is, one after the other, each with all that is below it.
func (w *world) clears(s belonging, order []int) {
	all := w.below(at)
	var deleted []string
	for _, n := range order {
		w.wipe(all[n])
		deleted = append(deleted, all[n])
		time.Sleep(time.Second)
	}
	s.learn()
	time.Sleep(5 * time.Second)
	bubble.Within(w, time.Minute, s.next(), fmt.Sprintf("nobody goes on after the deletion of %q", deleted))
	s.close()
	time.Sleep(5 * time.Second)
	synctest.Wait()
	mine, _ := w.Server.Session(w.mine.Status().SessionID)
	require.Empty(w, mine.Ephemeral, "deleted: %q", deleted)
}

// orders are all orders of up to so many of n.
func orders(n, most int) (all [][]int) {
	last := [][]int{nil}
	for range most {
		var longer [][]int
		for _, o := range last {
			for i := range n {
				if !slices.Contains(o, i) {
					longer = append(longer, append(slices.Clone(o), i))
				}
			}
		}
		all, last = append(all, longer...), longer
	}
	return all
}

var guid = regexp.MustCompile(`[0-9a-f-]{32,36}`)

// below are a path and all below it, in an order in which what is random in names does not count.
func (w *world) below(at string) []string {
	names, err := w.Server.Znodes(w).Children(at)
	if err != nil {
		return nil
	}
	slices.SortFunc(names, func(a, b string) int {
		return strings.Compare(guid.ReplaceAllString(a, "")+a, guid.ReplaceAllString(b, "")+b)
	})
	all := []string{at}
	for _, name := range names {
		all = append(all, w.below(path.Join(at, name))...)
	}
	return all
}

// wipe deletes a path and all below it, as far as that is there.
func (w *world) wipe(at string) {
	for _, one := range slices.Backward(w.below(at)) {
		require.NoError(w, w.Server.Znodes(w).Delete(one))
	}
}
