package lock_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

const guidDashed, guidPlain = `[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`, `[0-9a-f]{32}`

// constructors are those that take a layout.
var constructors = map[string]func(*session.Session, string, ...lock.Option) (*lock.Lock, error){
	"New": lock.New, "NewRead": lock.NewRead, "NewWrite": lock.NewWrite,
}

// written is what a znode looks like, by layout and constructor. What is not here cannot be
// expressed.
var written = map[lock.Layout]map[string]string{
	lock.Troupe: {
		"New": "^/l/_c_" + guidDashed + `-lock-\d{10}$`, "NewRead": "^/l/_c_" + guidDashed + `-read-\d{10}$`, "NewWrite": "^/l/_c_" + guidDashed + `-write-\d{10}$`,
	},
	lock.Simple: {"New": "^/l$"},
	lock.Curator: {
		"New": "^/l/_c_" + guidDashed + `-lock-\d{10}$`, "NewRead": "^/l/_c_" + guidDashed + `-__READ__\d{10}$`, "NewWrite": "^/l/_c_" + guidDashed + `-__WRIT__\d{10}$`,
	},
	lock.Kazoo: {
		"New": "^/l/" + guidPlain + `__lock__\d{10}$`, "NewRead": "^/l/" + guidPlain + `__rlock__\d{10}$`, "NewWrite": "^/l/" + guidPlain + `__lock__\d{10}$`,
	},
	lock.JavaWriteLock: {"New": `^/l/x--?\d+-\d{10}$`},
	lock.GoZooKeeper:   {"New": "^/l/_c_" + guidPlain + `-lock-\d{10}$`},
}

func TestWhatALayoutWrites(t *testing.T) {
	t.Parallel()
	for layout, kinds := range written {
		for name, construct := range constructors {
			t.Run(fmt.Sprint(layout, " ", name), func(t *testing.T) {
				t.Parallel()
				inBubble(t, func(w *world) {
					h := w.Host("a")
					l, err := construct(h.Session, "/l", lock.WithLayout(layout))
					pattern, can := kinds[name]
					if !can {
						require.ErrorIs(w, err, session.ErrUnsupported)
						require.ErrorContains(w, err, "WithLayout")
						require.NotContains(w, w.Server.Dump(), "/l")
						return
					}
					require.NoError(w, err)
					g := w.held(l)
					require.Regexp(w, pattern, g.Path())
					require.NoError(w, g.Release(w.Context()))
					require.Empty(w, ephemerals(w, h))
				})
			})
		}
	}
}

func ephemerals(w *world, h *bubble.Host) []string {
	info, _ := w.Server.Session(h.Status().SessionID)
	return info.Ephemeral
}

// Every pair of layouts for lines excludes each other, whichever is first, and hands over in order.
func TestLayoutsExcludeEachOther(t *testing.T) {
	t.Parallel()
	lines := []lock.Layout{lock.Troupe, lock.Curator, lock.Kazoo, lock.JavaWriteLock, lock.GoZooKeeper}
	for _, one := range lines {
		for _, other := range lines {
			t.Run(fmt.Sprint(one, " ", other), func(t *testing.T) {
				t.Parallel()
				inBubble(t, func(w *world) {
					ha, hb := w.Host("a"), w.Host("b")
					a, b := w.lock(ha, lock.WithLayout(one)), w.lock(hb, lock.WithLayout(other))
					c := w.lock(ha, lock.WithLayout(one)) // of the same session, in the same layout
					g := w.held(a)
					_, err := b.TryLock(w.Context())
					require.ErrorIs(w, err, lock.ErrHeld)
					_, err = c.TryLock(w.Context())
					require.ErrorIs(w, err, lock.ErrHeld)
					w.queued(b)
					w.queued(c)
					line, err := a.Contenders(w.Context())
					require.NoError(w, err)
					require.Len(w, line, 3)
					require.Equal(w, g.Path(), line[0].Path)
					require.NoError(w, g.Release(w.Context()))
					second := bubble.Within(w, time.Second, b.Acquired())
					require.Greater(w, second.Token(), g.Token())
					bubble.Never(w, c.Acquired(), "two holders")
					require.NoError(w, b.Release(w.Context()))
					third := bubble.Within(w, time.Second, c.Acquired())
					require.Greater(w, third.Token(), second.Token())
				})
			})
		}
	}
}

// Whatever the layout: asking, taking, sequencers, observing.
func TestRevokeAndBreakInEveryLayout(t *testing.T) {
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
				line, err := w.lock(admin, lock.WithLayout(layout)).Contenders(w.Context())
				require.NoError(w, err)
				require.Equal(w, seen, line)
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
			})
		})
	}
}
