// Layouts of other libraries: the names and data of their znodes, and the locks' calls in each; the
// layout Simple, in which the client that creates the znode holds; and the owners that contenders
// name.

package lock_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

const guidDashed, guidPlain = `[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`, `[0-9a-f]{32}`

// layouts have a pattern of the znode's path, behind the lock's, for an exclusive lock, a reader
// and a writer; "" where the layout has none.
var layouts = map[string]layoutRow{
	"Troupe":        {lock.Troupe, "/_c_" + guidDashed + `-lock-\d{10}$`, "/_c_" + guidDashed + `-read-\d{10}$`, "/_c_" + guidDashed + `-write-\d{10}$`},
	"Simple":        {lock.Simple, "$", "", ""},
	"Curator":       {lock.Curator, "/_c_" + guidDashed + `-lock-\d{10}$`, "/_c_" + guidDashed + `-__READ__\d{10}$`, "/_c_" + guidDashed + `-__WRIT__\d{10}$`},
	"Kazoo":         {lock.Kazoo, "/" + guidPlain + `__lock__\d{10}$`, "/" + guidPlain + `__rlock__\d{10}$`, "/" + guidPlain + `__lock__\d{10}$`},
	"JavaWriteLock": {lock.JavaWriteLock, `/x--?\d+-\d{10}$`, "", ""},
	"Page":          {lock.Page, "/" + guidDashed + `-lock-\d{10}$`, "/" + guidDashed + `-read-\d{10}$`, "/" + guidDashed + `-write-\d{10}$`},
	"GoZooKeeper":   {lock.GoZooKeeper, "/_c_" + guidPlain + `-lock-\d{10}$`, "", ""},
}

type layoutRow struct {
	layout                 lock.Layout
	exclusive, read, write string
}

func TestWhatALayoutWrites(t *testing.T) {
	t.Parallel()
	for name, layout := range layouts {
		require.Equal(t, name, layout.layout.String())
	}
	bubble.EachRow(t, layouts, func(w *bubble.World, row layoutRow) {
		h, with := w.Host("a", session.WithIdentity("orders-7")), []lock.Option{lock.WithLayout(row.layout), lock.WithData([]byte("mine"))}
		for _, kind := range []struct {
			pattern    string
			build      func(*session.Session, string, ...lock.Option) (*lock.Lock, error)
			downgrades bool
		}{{row.exclusive, lock.New, false}, {row.read, lock.NewRead, false}, {row.write, lock.NewWrite, true}} {
			l, err := kind.build(h.Session, path, with...)
			if kind.pattern == "" {
				require.ErrorIs(w, err, session.ErrUnsupported)
				continue
			}
			require.NoError(w, err)
			g := held(w, l)
			require.Regexp(w, "^"+path+kind.pattern, g.Path())
			if row.layout != lock.Troupe { // others find exactly the application's data
				require.Equal(w, "mine", content(w, g.Path()))
				require.Zero(w, must(l.Contenders(w.Context()))[0].Owner)
			}
			if kind.downgrades {
				read := must(g.Downgrade(w.Context()))
				require.Regexp(w, "^"+path+row.read, read.Path())
				require.Equal(w, g.Path()[len(g.Path())-10:], read.Path()[len(read.Path())-10:], "the writer's number")
				require.ErrorIs(w, errOf(read.Downgrade(w.Context())), session.ErrUnsupported)
				g = read
			}
			require.NoError(w, g.Release(w.Context()))
			require.Empty(w, kept(w, h).Ephemeral)
		}
	}, bubble.Brisk()...)
}

// Observe, Contenders, sequencers, Commit, Revoke and Break work in each layout.
func TestEveryLayout(t *testing.T) {
	eachRow(t, layouts, func(w *bubble.World, row layoutRow) {
		h, admin := w.Host("a"), w.Host("b")
		l := newLock(h, lock.WithLayout(row.layout), lock.WithData([]byte("me")))
		queues := l.Observe(w.Context())
		require.Empty(w, bubble.Within(w, time.Second, queues).Contenders)
		g := held(w, l)
		seen := bubble.Within(w, time.Second, queues).Contenders
		require.Len(w, seen, 1)
		require.Equal(w, g.Path(), seen[0].Path)
		require.Equal(w, g.Token(), seen[0].Token)
		require.Equal(w, "me", string(seen[0].Data))
		require.True(w, seen[0].Holding)
		require.Equal(w, h.Status().SessionID, seen[0].SessionID)
		other := newLock(admin) // Troupe's
		if row.layout == lock.Simple {
			other = newLock(admin, lock.WithLayout(row.layout))
		}
		require.Equal(w, seen, must(other.Contenders(w.Context())))
		next := newLock(h, lock.WithLayout(row.layout)) // of the same session
		for _, l := range []*lock.Lock{other, next} {
			require.ErrorIs(w, errOf(l.TryLock(w.Context())), lock.ErrHeld)
		}
		require.Equal(w, g.Path(), g.Sequencer().Path)
		must(g.Commit(w.Context(), session.CreateOp("/done", nil)))

		err := other.Revoke(w.Context(), of(g))
		if row.layout == lock.Simple {
			require.ErrorIs(w, err, session.ErrUnsupported)
			require.ErrorIs(w, other.Break(w.Context(), of(g), 0), session.ErrUnsupported)
			require.NoError(w, admin.Delete(w.Context(), g.Path(), -1))
		} else {
			require.NoError(w, err)
			bubble.Within(w, time.Second, g.Revoked())
			require.NoError(w, other.Break(w.Context(), of(g), time.Second))
		}
		bubble.Within(w, time.Second, g.Done())
		require.ErrorIs(w, g.Err(), session.ErrDeleted)
		require.ErrorIs(w, errOf(g.Commit(w.Context(), session.CreateOp("/late", nil))), session.ErrLost)
		require.Greater(w, must(other.TryLock(w.Context())).Token(), g.Token())
	})
}

// While the connection of an observer is down, its view is the last one that it knew, and Stale.
// Afterwards it learns what happened meanwhile.
func TestAViewIsStaleWhileTheConnectionIsDown(t *testing.T) {
	eachRow(t, map[string]builder{"exclusive": newLock, "with a delay": delayed, "a semaphore": permits(1), "Simple": simple}, func(w *bubble.World, kind builder) {
		h, l := w.Host("observer"), kind(w.Host("holder"))
		g := held(w, l)
		views := kind(h).Observe(w.Context())
		fresh := bubble.Now(w, views)
		require.False(w, fresh.Stale)
		require.Len(w, fresh.Contenders, 1)
		require.True(w, fresh.Contenders[0].Holding)

		heal := h.Machine.Partition()
		stale := bubble.Within(w, time.Minute, views)
		require.Equal(w, lock.View{Contenders: fresh.Contenders, Stale: true}, stale)
		require.True(w, bubble.Within(w, time.Minute, kind(h).Observe(w.Context())).Stale, "of one that begins now too")
		require.NoError(w, g.Release(w.Context()))
		heal()
		bubble.Await(w, views, "the release", func(v lock.View) bool { return !v.Stale && len(v.Contenders) == 0 })
		bubble.Never(w, views, "it goes on")
	})
}

// A name may occur again under a new parent. An observer sees the token of the new znode.
func TestANameThatOccursAgainIsObserved(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		h, seer := w.Host("a"), w.Host("b")
		l := newLock(h, lock.WithLayout(lock.JavaWriteLock))
		first := held(w, l)
		queues := newLock(seer).Observe(w.Context())
		require.Equal(w, first.Token(), bubble.Within(w, time.Second, queues).Contenders[0].Token)
		id := seer.Status().SessionID
		defer w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.SessionID == id && r.Op == zktest.OpGetChildren2 {
				return zktest.Delay(time.Second) // it sees the new parent next
			}
			return zktest.Pass
		})()
		require.NoError(w, h.DeleteAll(w.Context(), path))
		again := held(w, l)
		require.Equal(w, first.Path(), again.Path())
		require.Equal(w, again.Token(), bubble.Within(w, time.Minute, queues).Contenders[0].Token)
	})
}

// Other systems hold the path of a simple lock by a plain create. The client that creates the znode
// excludes all others.
func TestSimpleExcludesAPlainCreate(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		h, other := w.Host("a"), w.Host("b")
		l := simple(h, lock.WithData([]byte(`{"brokerid":1}`)))
		must(other.Create(w.Context(), controller, []byte(`{"brokerid":0}`), session.Ephemeral()))
		_, err := l.TryLock(w.Context())
		require.ErrorIs(w, err, lock.ErrHeld)
		queue := must(l.Contenders(w.Context()))
		require.Len(w, queue, 1)
		require.Equal(w, other.Status().SessionID, queue[0].SessionID)
		queued(l)
		bubble.Never(w, l.Acquired(), "two hold")
		must(other.Set(w.Context(), controller, []byte("unlock"), -1)) // without a meaning here
		bubble.Never(w, l.Acquired(), "two hold")
		require.NoError(w, other.Delete(w.Context(), controller, -1))
		g := bubble.Within(w, time.Second, l.Acquired())
		require.Equal(w, controller, g.Path())
		require.ErrorIs(w, errOf(other.Create(w.Context(), controller, nil, session.Ephemeral())), session.ErrNodeExists)
		data, stat, err := other.Get(w.Context(), controller)
		require.NoError(w, err)
		require.Equal(w, `{"brokerid":1}`, string(data))
		require.Equal(w, stat.Czxid, g.Token())
		require.NoError(w, l.Withdraw(w.Context()))
		must(other.Create(w.Context(), controller, nil, session.Ephemeral()))
	})
}

// Another client deletes the holder's znode and creates its own in one transaction. The holder
// loses. Once it has heard of that, neither its release nor Close deletes the other's znode.
func TestSimpleIsDisplaced(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		other, l := w.Host("b"), simple(w.Host("a"))
		g := held(w, l)
		synctest.Wait()
		must(other.Multi(w.Context(), session.DeleteOp(controller, -1), session.CreateOp(controller, nil, session.Ephemeral())))
		bubble.Within(w, time.Second, g.Done())
		require.ErrorIs(w, g.Err(), session.ErrDeleted)
		require.ErrorIs(w, g.Release(w.Context()), session.ErrLost)
		require.NoError(w, l.Close(w.Context()))
		synctest.Wait()
		stat, exists, err := other.Exists(w.Context(), controller)
		require.NoError(w, err)
		require.True(w, exists)
		require.Equal(w, other.Status().SessionID, stat.EphemeralOwner)
	})
}

// Contenders of Troupe's layout name their owners: holders and waiters of each kind, also once they
// were asked to release.
func TestContendersSayWhoseTheyAre(t *testing.T) {
	eachRow(t, map[string]builder{"lock": newLock, "reader": reader, "writer": writer, "semaphore": permits(2)}, func(w *bubble.World, build builder) {
		mine := lock.WithData([]byte("mine"))
		first := build(w.Host("a", session.WithIdentity("orders-7")), mine)
		held(w, first)
		queued(build(w.Host("b"), mine))
		queued(build(w.Host("c", session.WithoutIdentity()), mine))
		unnamed := session.Identity{Host: must(os.Hostname()), PID: os.Getpid(), Program: filepath.Base(os.Args[0])}
		named := unnamed
		named.Name = "orders-7"
		for _, revoked := range []bool{false, true} {
			synctest.Wait()
			all := must(first.Contenders(w.Context()))
			require.Len(w, all, 3)
			for i, owner := range []session.Identity{named, unnamed, {}} {
				require.Equal(w, owner, all[i].Owner)
				require.Equal(w, "mine", string(all[i].Data))
				require.Equal(w, revoked, all[i].Revoked)
				require.NoError(w, first.Revoke(w.Context(), all[i]))
			}
		}
	})
}

// Data may begin like the notes of the recipe, or with an empty line: others read them as they were
// given, before and after a revocation, a mark and a downgrade, with an identity before them or
// without. In the layouts of other libraries the znode has exactly these bytes.
func TestDataThatBeginLikeANote(t *testing.T) {
	plain := []string{"x", "held by x", "placed 4"}
	all := append([]string{"unlock", "unlock\nx", "unlocked", "held\nx", "placed 4\nx", "by {", "by {\"pid\":1}\nx", "\n", "\nx", "\n\nunlock"}, plain...)
	eachRow(t, map[string]builder{"exclusive": newLock, "reader": reader, "writer": writer, "semaphore": permits(1)}, func(w *bubble.World, build builder) {
		seer := newLock(w.Host("seer"))
		for i, data := range all {
			h := w.Host(fmt.Sprint("unnamed ", i), session.WithoutIdentity())
			if i%2 == 0 {
				h = w.Host(fmt.Sprint("named ", i), session.WithIdentity("orders-7"))
			}
			l := build(h, lock.WithData([]byte(data)))
			g := held(w, l)
			if slices.Contains(plain, data) {
				require.Regexp(w, `^(held\n)?(by .*\n)?`+data+"$", content(w, g.Path()))
			}
			shown := func(revoked bool) {
				w.Helper()
				// The first view may be of a moment ago.
				view := bubble.Await(w, seer.Observe(w.Context()), "no view has the contender", func(v lock.View) bool {
					return len(v.Contenders) == 1 && v.Contenders[0].Token == g.Token() && v.Contenders[0].Revoked == revoked
				})
				for _, all := range [][]lock.Contender{must(seer.Contenders(w.Context())), view.Contenders} {
					require.Len(w, all, 1)
					require.Equal(w, data, string(all[0].Data))
					require.Equal(w, revoked, all[0].Revoked)
					require.True(w, all[0].Holding)
					require.Equal(w, g.Token(), all[0].Token)
				}
			}
			shown(false)
			bubble.Never(w, g.Revoked(), "it was not asked")
			if read, err := g.Downgrade(w.Context()); err == nil {
				g = read
				shown(false)
			}
			require.NoError(w, seer.Revoke(w.Context(), of(g)))
			bubble.Within(w, time.Second, g.Revoked())
			shown(true)
			require.NoError(w, l.Close(w.Context()))
		}
	})
}

func TestOtherLayoutsWriteDataAsGiven(t *testing.T) {
	eachRow(t, layouts, func(w *bubble.World, row layoutRow) {
		if row.layout == lock.Troupe {
			return
		}
		for _, data := range []string{"unlock", "held\nx", "by {", "\nx"} {
			l := newLock(w.Host("a"+data), lock.WithLayout(row.layout), lock.WithData([]byte(data)))
			g := held(w, l)
			require.Equal(w, data, content(w, g.Path()))
			require.Equal(w, data, string(must(l.Contenders(w.Context()))[0].Data))
			require.NoError(w, l.Close(w.Context()))
		}
	})
}

// The mark of a semaphore's holder, also when it is written again, and the note of a reader that
// was a writer are before the line with the owner.
func TestMarksAndDowngradesKeepWhoseItIs(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		h, mine := w.Host("a", session.WithIdentity("orders-7")), lock.WithData([]byte("mine"))
		const marked = `^held\nby \{.*"name":"orders-7"\}\nmine$`
		lease := semaphore(h, 1, mine)
		g := held(w, lease)
		require.Regexp(w, marked, content(w, g.Path()))
		must(h.Set(w.Context(), g.Path(), []byte(strings.TrimPrefix(content(w, g.Path()), "held\n")), -1))
		synctest.Wait()
		require.Regexp(w, marked, content(w, g.Path()))
		require.NoError(w, lease.Close(w.Context()))
		require.NoError(w, h.Delete(w.Context(), path, -1))

		l := writer(h, mine)
		g = must(held(w, l).Downgrade(w.Context()))
		require.Regexp(w, `^placed \d+\nby \{.*"name":"orders-7"\}\nmine$`, content(w, g.Path()))
		for _, all := range [][]lock.Contender{must(l.Contenders(w.Context())), bubble.Within(w, time.Second, l.Observe(w.Context())).Contenders} {
			require.Equal(w, "orders-7", all[0].Owner.Name)
			require.Equal(w, "mine", string(all[0].Data))
		}
	})
}
