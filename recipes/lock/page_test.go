// The clients of ZooKeeper's recipe page: its locks, shared locks and revocable locks, step by step
// as the page has them, beside ours on one path.

package lock_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

// pageClient is a contender of the page, with a session of its own.
type pageClient struct {
	session *session.Session
	node    string
	granted chan struct{} // closes when it holds
	asked   chan struct{} // closes when it finds "unlock" in its data
}

// onPage joins: step 1 creates the znode, and a revocable lock reads it with a watch right after.
// kind is "lock", "read" or "write".
func onPage(w *bubble.World, kind string) *pageClient {
	c := &pageClient{session: w.Session(), granted: make(chan struct{}), asked: make(chan struct{})}
	c.node = must(c.session.Create(w.Context(), path+"/"+string(znode.NewGUID())+"-"+kind+"-", nil, session.Ephemeral(), session.Sequential(), session.Parents()))
	go func() { // ends with the session
		for d := range c.session.WatchData(w.Context(), c.node) {
			if strings.Contains(string(d.Bytes), "unlock") {
				close(c.asked)
				return
			}
		}
	}()
	go c.wait(w.Context(), kind)
	synctest.Wait()
	return c
}

// wait are the other steps: list, without a watch; hold if none is ahead; else watch the last one
// ahead until it is gone, and list again.
func (c *pageClient) wait(ctx context.Context, kind string) {
	number := func(name string) string { return name[len(name)-10:] }
	for ctx.Err() == nil {
		names, _, err := c.session.Children(ctx, path)
		if err != nil {
			return // the session has ended
		}
		names = slices.DeleteFunc(names, func(name string) bool {
			return number(name) >= number(c.node) || kind == "read" && !strings.Contains(name, "write-")
		})
		if len(names) == 0 {
			close(c.granted)
			return
		}
		last := slices.MaxFunc(names, func(a, b string) int { return strings.Compare(number(a), number(b)) })
		watching, stop := context.WithCancel(ctx)
		for d := range c.session.WatchData(watching, path+"/"+last) {
			if !d.Exists && !d.Stale {
				break
			}
		}
		stop()
	}
}

func (c *pageClient) release(w *bubble.World) {
	require.NoError(w, c.session.Delete(w.Context(), c.node, -1))
	synctest.Wait()
}

func (c *pageClient) holds() bool {
	synctest.Wait()
	select {
	case <-c.granted:
		return true
	default:
		return false
	}
}

// paged are the kinds of locks that stand beside those of the page.
func paged(h *bubble.Host, kind string) *lock.Lock {
	build := map[string]builder{"lock": newLock, "read": reader, "write": writer}[kind]
	return queued(build(h, lock.WithLayout(lock.Page)))
}

func holds(l *lock.Lock) bool {
	synctest.Wait()
	for s := range l.ObserveStatus(context.Background()) {
		return s.State == lock.Holding
	}
	return false
}

// One holds at a time, in the order of arrival.
func TestALockOfThePage(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		first, second := onPage(w, "lock"), paged(w.Host("a"), "lock")
		third, fourth := onPage(w, "lock"), paged(w.Host("b"), "lock")
		hold := func() []bool { return []bool{first.holds(), holds(second), third.holds(), holds(fourth)} }
		require.Equal(w, []bool{true, false, false, false}, hold())
		first.release(w)
		require.Equal(w, []bool{true, true, false, false}, hold())
		g := bubble.Now(w, second.Acquired())
		require.Regexp(w, "^"+path+"/"+guidDashed+`-lock-\d{10}$`, g.Path())
		require.NoError(w, second.Withdraw(w.Context()))
		require.Equal(w, []bool{true, false, true, false}, hold())
		require.NoError(w, third.session.Close(w.Context()))
		require.Equal(w, []bool{true, false, true, true}, hold())
		require.Greater(w, bubble.Now(w, fourth.Acquired()).Token(), g.Token())
	})
}

// Readers hold together, writers alone. A downgraded writer lets in the readers behind it, up to
// the next writer.
func TestASharedLockOfThePage(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		read, ours := onPage(w, "read"), paged(w.Host("a"), "read")
		require.Equal(w, []bool{true, true}, []bool{read.holds(), holds(ours)})
		write := paged(w.Host("b"), "write")
		behind, next, last := onPage(w, "read"), onPage(w, "write"), paged(w.Host("c"), "read")
		hold := func() []bool { return []bool{holds(write), behind.holds(), next.holds(), holds(last)} }
		read.release(w)
		require.Equal(w, []bool{false, false, false, false}, hold(), "our reader holds still")
		require.NoError(w, ours.Withdraw(w.Context()))
		require.Equal(w, []bool{true, false, false, false}, hold())

		down := must(bubble.Now(w, write.Acquired()).Downgrade(w.Context()))
		require.Regexp(w, "^"+path+"/"+guidDashed+`-read-\d{10}$`, down.Path())
		require.Equal(w, []bool{true, true, false, false}, hold())
		require.NoError(w, write.Close(w.Context()))
		behind.release(w)
		require.True(w, next.holds())
		require.False(w, holds(last))
		next.release(w)
		require.True(w, holds(last))
	})
}

// Each side asks the other to release in its own way: the page writes "unlock" over the data.
func TestARevocableLockOfThePage(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		holder, l := onPage(w, "write"), paged(w.Host("a"), "write")
		all := must(l.Contenders(w.Context()))
		require.Equal(w, holder.node, all[0].Path)
		require.NoError(w, l.Revoke(w.Context(), all[0]))
		bubble.Within(w, time.Second, holder.asked)
		holder.release(w)
		g := bubble.Now(w, l.Acquired())
		must(holder.session.Set(w.Context(), g.Path(), []byte("unlock"), -1))
		bubble.Within(w, time.Second, g.Revoked())
		require.True(w, must(l.Contenders(w.Context()))[0].Revoked)
	})
}
