// The layouts of other libraries: what a znode is named, that they exclude each other, and that
// everything works in each; and the simple one, in which whoever creates the znode holds. Whose a
// contender's znode is: what is written of it, and who reads it.

package lock_test

import (
	"fmt"
	"os"
	"path/filepath"
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

// written is what a znode looks like, by layout and constructor. What is not here cannot be
// expressed.
var written = map[lock.Layout]map[string]string{
	lock.Troupe: {
		"lock.New": "^/l/_c_" + guidDashed + `-lock-\d{10}$`, "lock.NewRead": "^/l/_c_" + guidDashed + `-read-\d{10}$`, "lock.NewWrite": "^/l/_c_" + guidDashed + `-write-\d{10}$`,
	},
	lock.Simple: {"lock.New": "^/l$"},
	lock.Curator: {
		"lock.New": "^/l/_c_" + guidDashed + `-lock-\d{10}$`, "lock.NewRead": "^/l/_c_" + guidDashed + `-__READ__\d{10}$`, "lock.NewWrite": "^/l/_c_" + guidDashed + `-__WRIT__\d{10}$`,
	},
	lock.Kazoo: {
		"lock.New": "^/l/" + guidPlain + `__lock__\d{10}$`, "lock.NewRead": "^/l/" + guidPlain + `__rlock__\d{10}$`, "lock.NewWrite": "^/l/" + guidPlain + `__lock__\d{10}$`,
	},
	lock.JavaWriteLock: {"lock.New": `^/l/x--?\d+-\d{10}$`},
	lock.GoZooKeeper:   {"lock.New": "^/l/_c_" + guidPlain + `-lock-\d{10}$`},
}

// all are the constructors of what there is in other libraries too.
var all = map[string]func(*session.Session, string, ...lock.Option) (*lock.Lock, error){
	"lock.New": lock.New, "lock.NewRead": lock.NewRead, "lock.NewWrite": lock.NewWrite,
}

func TestWhatALayoutWrites(t *testing.T) {
	t.Parallel()
	for layout, kinds := range written {
		for name, construct := range all {
			t.Run(fmt.Sprint(layout, " ", name), func(t *testing.T) {
				t.Parallel()
				inBubble(t, func(w *world) {
					h := w.Host("a")
					l, err := construct(h.Session, "/l", lock.WithLayout(layout))
					pattern, can := kinds[name]
					if !can {
						require.ErrorIs(w, err, session.ErrUnsupported)
						return
					}
					require.NoError(w, err)
					g := w.held(l)
					require.Regexp(w, pattern, g.Path())
					if read, err := g.Downgrade(w.Context()); name == "lock.NewWrite" {
						require.NoError(w, err)
						require.Regexp(w, kinds["lock.NewRead"], read.Path())
						require.Equal(w, g.Path()[len(g.Path())-10:], read.Path()[len(read.Path())-10:], "the writer's number")
						_, err = read.Downgrade(w.Context())
						require.ErrorIs(w, err, session.ErrUnsupported)
						g = read
					}
					require.NoError(w, g.Release(w.Context()))
					require.Empty(w, w.kept(h).Ephemeral)
				})
			})
		}
	}
}

// Whatever the layout: observing, sequencers, committing, asking, taking.
func TestEveryLayout(t *testing.T) {
	t.Parallel()
	for layout := range written {
		t.Run(layout.String(), func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				h, admin := w.Host("a"), w.Host("b")
				l := w.lock(h, lock.WithLayout(layout), lock.WithData([]byte("me")))
				lines := l.Observe(w.Context())
				require.Empty(w, bubble.Within(w, time.Second, lines))
				g := w.held(l)
				seen := bubble.Within(w, time.Second, lines)
				require.Len(w, seen, 1)
				require.Equal(w, g.Path(), seen[0].Path)
				require.Equal(w, g.Token(), seen[0].Token)
				require.Equal(w, "me", string(seen[0].Data))
				require.True(w, seen[0].Holding)
				require.Equal(w, h.Status().SessionID, seen[0].SessionID)
				other := w.lock(admin) // Troupe's
				if layout == lock.Simple {
					other = w.lock(admin, lock.WithLayout(layout))
				}
				line, err := other.Contenders(w.Context())
				require.NoError(w, err)
				require.Equal(w, seen, line)
				next := w.lock(h, lock.WithLayout(layout)) // of the same session
				for _, l := range []*lock.Lock{other, next} {
					_, err = l.TryLock(w.Context())
					require.ErrorIs(w, err, lock.ErrHeld)
				}
				require.Equal(w, g.Path(), g.Sequencer().Path)
				_, err = g.Commit(w.Context(), session.CreateOp("/done", nil))
				require.NoError(w, err)

				err = lock.Revoke(w.Context(), admin.Session, g.Path())
				if layout == lock.Simple {
					require.ErrorIs(w, err, session.ErrUnsupported)
					require.ErrorIs(w, lock.Break(w.Context(), admin.Session, g.Path(), 0), session.ErrUnsupported)
					require.NoError(w, admin.Delete(w.Context(), g.Path(), -1))
				} else {
					require.NoError(w, err)
					bubble.Within(w, time.Second, g.Revoked())
					require.NoError(w, lock.Break(w.Context(), admin.Session, g.Path(), time.Second))
				}
				bubble.Within(w, time.Second, g.Done())
				require.ErrorIs(w, g.Err(), session.ErrDeleted)
				_, err = g.Commit(w.Context(), session.CreateOp("/late", nil))
				require.ErrorIs(w, err, session.ErrLost)
				after, err := other.TryLock(w.Context())
				require.NoError(w, err)
				require.Greater(w, after.Token(), g.Token())
			})
		})
	}
}

// The names of a layout may occur again under a new parent: whoever observes sees which it is.
func TestANameThatOccursAgainIsObserved(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h, seer := w.Host("a"), w.Host("b")
		l := w.lock(h, lock.WithLayout(lock.JavaWriteLock))
		first := w.held(l)
		lines := w.lock(seer).Observe(w.Context())
		require.Equal(w, first.Token(), bubble.Within(w, time.Second, lines)[0].Token)
		id := seer.Status().SessionID
		defer w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.SessionID == id && r.Op == zktest.OpGetChildren2 {
				return zktest.Delay(time.Second) // it sees the new parent next
			}
			return zktest.Pass
		})()
		require.NoError(w, h.DeleteAll(w.Context(), path))
		again := w.held(l)
		require.Equal(w, first.Path(), again.Path())
		require.Equal(w, again.Token(), bubble.Within(w, time.Minute, lines)[0].Token)
	})
}

// Others hold such a path by `create -e`, and so do we: whoever creates it excludes all others.
func TestSimpleExcludesAPlainCreate(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h, other := w.Host("a"), w.Host("b")
		l := w.simple(h, lock.WithData([]byte(`{"brokerid":1}`)))
		_, err := other.Create(w.Context(), controller, []byte(`{"brokerid":0}`), session.Ephemeral())
		require.NoError(w, err)
		_, err = l.TryLock(w.Context())
		require.ErrorIs(w, err, lock.ErrHeld)
		line, err := l.Contenders(w.Context())
		require.NoError(w, err)
		require.Len(w, line, 1)
		require.Equal(w, other.Status().SessionID, line[0].SessionID)
		w.queued(l)
		bubble.Never(w, l.Acquired(), "two hold")
		_, err = other.Set(w.Context(), controller, []byte("unlock"), -1) // none of our business
		require.NoError(w, err)
		synctest.Wait()
		bubble.Never(w, l.Acquired(), "two hold")
		require.NoError(w, other.Delete(w.Context(), controller, -1))
		g := bubble.Within(w, time.Second, l.Acquired())
		require.Equal(w, controller, g.Path())
		_, err = other.Create(w.Context(), controller, nil, session.Ephemeral())
		require.ErrorIs(w, err, session.ErrNodeExists)
		data, stat, err := other.Get(w.Context(), controller)
		require.NoError(w, err)
		require.Equal(w, `{"brokerid":1}`, string(data), "nothing but what the application says")
		require.Equal(w, stat.Czxid, g.Token())
		require.NoError(w, l.Release(w.Context()))
		_, err = other.Create(w.Context(), controller, nil, session.Ephemeral())
		require.NoError(w, err)
	})
}

// Somebody deletes the holder's znode and takes its place, in the same breath: the holder loses,
// and its remains harm nobody.
func TestSimpleIsDisplaced(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h, other := w.Host("a"), w.Host("b")
		l := w.simple(h)
		g := w.held(l)
		synctest.Wait()
		_, err := other.Multi(w.Context(), session.DeleteOp(controller, -1), session.CreateOp(controller, nil, session.Ephemeral()))
		require.NoError(w, err)
		bubble.Within(w, time.Second, g.Done())
		require.ErrorIs(w, g.Err(), session.ErrDeleted)
		require.ErrorIs(w, g.Release(w.Context()), session.ErrLost)
		require.NoError(w, l.Close(w.Context()))
		stat, exists, err := other.Exists(w.Context(), controller)
		require.NoError(w, err)
		require.True(w, exists)
		require.Equal(w, other.Status().SessionID, stat.EphemeralOwner)
	})
}

// Under a parent that is gone in the meantime, in a namespace that is not there yet: what is
// missing is made.
func TestSimpleMakesWhatIsAboveIt(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a", session.WithNamespace("/app"))
		l, err := lock.New(h.Session, "/hbase/master", lock.WithLayout(lock.Simple))
		require.NoError(w, err)
		g := w.held(l)
		require.Equal(w, "/app/hbase/master", g.Sequencer().Path)
		require.NoError(w, g.Release(w.Context()))
		require.NoError(w, h.DeleteAll(w.Context(), "/hbase"))
		require.NoError(w, w.held(l).Release(w.Context()))
	})
}

// displaced is a grant of a plain znode that another client has replaced by its own, and what tells
// whether that one stands.
func displaced(w *world) (l *lock.Lock, g *lock.Grant, stands func()) {
	h, other := w.Host("a"), w.Host("b")
	l = w.simple(h)
	g = w.held(l)
	synctest.Wait()
	_, err := other.Multi(w.Context(), session.DeleteOp(controller, -1), session.CreateOp(controller, nil, session.Ephemeral()))
	require.NoError(w, err)
	synctest.Wait()
	return l, g, func() {
		synctest.Wait()
		stat, exists, err := other.Exists(w.Context(), controller)
		require.NoError(w, err)
		require.True(w, exists, "another's znode was deleted")
		require.Equal(w, other.Status().SessionID, stat.EphemeralOwner)
	}
}

// Whoever lost a plain znode to another, and knows it, does not delete that other's when it is
// closed.
func TestClosingSimpleAfterItWasDisplacedDeletesNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		l, g, stands := displaced(w)
		bubble.Within(w, time.Second, g.Done())
		require.ErrorIs(w, g.Err(), session.ErrDeleted)
		require.NoError(w, l.Close(w.Context()))
		stands()
	})
}

// Nor when it releases before it has heard of that.
func TestReleasingSimpleAfterItWasDisplacedDeletesNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		_, g, stands := displaced(w)
		_ = g.Release(w.Context())
		stands()
	})
}

// whose are the owners that the contenders name, in order, with their data.
func (w *world) whose(l *lock.Lock) (owners []session.Identity, data []string) {
	w.Helper()
	synctest.Wait()
	line, err := l.Contenders(w.Context())
	require.NoError(w, err)
	for _, c := range line {
		owners, data = append(owners, c.Owner), append(data, string(c.Data))
	}
	return owners, data
}

// content is what is in a znode.
func (w *world) content(s *session.Session, path string) string {
	w.Helper()
	data, _, err := s.Get(w.Context(), path)
	require.NoError(w, err)
	return string(data)
}

func TestContendersSayWhoseTheyAre(t *testing.T) {
	t.Parallel()
	for name, build := range map[string]builder{"lock": (*world).lock, "reader": (*world).reader, "writer": (*world).writer, "semaphore": permits(2)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				mine := lock.WithData([]byte("mine"))
				first := build(w, w.Host("a", session.WithIdentity("orders-7")), mine)
				w.held(first)
				second := w.queued(build(w, w.Host("b"), mine))
				w.queued(build(w, w.Host("c", session.WithoutIdentity()), mine))
				host, err := os.Hostname()
				require.NoError(w, err)
				want := session.Identity{Host: host, PID: os.Getpid(), Program: filepath.Base(os.Args[0])}
				named := want
				named.Name = "orders-7"
				owners, data := w.whose(second)
				require.Equal(w, []session.Identity{named, want, {}}, owners)
				require.Equal(w, []string{"mine", "mine", "mine"}, data)

				line, err := first.Contenders(w.Context())
				require.NoError(w, err)
				for _, c := range line { // holders and waiters
					require.NoError(w, lock.Revoke(w.Context(), w.Host("admin").Session, c.Path))
				}
				owners, data = w.whose(second)
				require.Equal(w, []session.Identity{named, want, {}}, owners, "a request to release leaves it")
				require.Equal(w, []string{"unlock\nmine", "unlock\nmine", "unlock\nmine"}, data)
			})
		})
	}
}

// The mark of a semaphore's holder, and the note of a reader that was a writer, come before it.
func TestMarksAndDowngradesKeepWhoseItIs(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a", session.WithIdentity("orders-7"))
		lease := w.semaphore(h, 1, lock.WithData([]byte("mine")))
		g := w.held(lease)
		require.Regexp(w, `^held\nby \{.*"name":"orders-7"\}\nmine$`, w.content(h.Session, g.Path()))
		_, err := h.Set(w.Context(), g.Path(), []byte(strings.TrimPrefix(w.content(h.Session, g.Path()), "held\n")), -1)
		require.NoError(w, err)
		synctest.Wait()
		require.Regexp(w, `^held\nby \{.*"name":"orders-7"\}\nmine$`, w.content(h.Session, g.Path()), "and one that is written again")
		require.NoError(w, lease.Close(w.Context()))
		require.NoError(w, h.Delete(w.Context(), path, -1))

		writer := w.writer(h, lock.WithData([]byte("mine")))
		g, err = w.held(writer).Downgrade(w.Context())
		require.NoError(w, err)
		require.Regexp(w, `^placed \d+\nby \{.*"name":"orders-7"\}\nmine$`, w.content(h.Session, g.Path()))
		owners, data := w.whose(writer)
		require.Equal(w, "orders-7", owners[0].Name)
		require.Equal(w, []string{"mine"}, data)
		views := writer.Observe(w.Context())
		require.Equal(w, "orders-7", bubble.Within(w, time.Second, views)[0].Owner.Name)
	})
}

// Others find in their layouts exactly what was given.
func TestLayoutsOfOthersDoNotSayWhoseItIs(t *testing.T) {
	t.Parallel()
	for _, layout := range []lock.Layout{lock.Simple, lock.Curator, lock.Kazoo, lock.JavaWriteLock, lock.GoZooKeeper} {
		inBubble(t, func(w *world) {
			h := w.Host("a", session.WithIdentity("orders-7"))
			l := w.lock(h, lock.WithLayout(layout), lock.WithData([]byte("mine")))
			require.Equal(w, "mine", w.content(h.Session, w.held(l).Path()), layout)
			owners, _ := w.whose(l)
			require.Equal(w, []session.Identity{{}}, owners)
		})
	}
}
