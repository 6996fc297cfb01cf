package session_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

type looked struct {
	found []session.Found
	err   error
}

func (t *client) look(w *world, epoch uint64, queries ...session.Query) looked {
	w.Helper()
	return wait(w, func(done func(looked)) {
		t.Look(epoch, queries, func(found []session.Found, err error) { done(looked{found, err}) })
	})
}

// aLook looks at what there may be, and checks what is found: also what may not be read, which is
// not the fault of the rest.
func aLook(w *world, s *session.Session, t *client) {
	w.Helper()
	l := t.look(
		w, 1, session.Query{Path: "/a"}, session.Query{Path: "/a", Children: true}, session.Query{Path: "/none"},
		session.Query{Path: "/none", Children: true}, session.Query{Path: "/a/closed"}, session.Query{Path: "/a/closed", Children: true},
		session.Query{Path: "/a/b"},
	)
	require.NoError(w, l.err)
	require.Len(w, l.found, 7)
	data, stat, err := s.Get(w.ctx, "/a")
	require.NoError(w, err)
	require.Equal(w, session.Found{Data: data, Stat: stat}, l.found[0])
	require.ElementsMatch(w, []string{"b", "closed"}, l.found[1].Names)
	require.Zero(w, l.found[1].Stat)
	for i, err := range map[int]error{2: session.ErrNoNode, 3: session.ErrNoNode, 4: session.ErrNoAuth, 5: session.ErrNoAuth} {
		require.Equal(w, session.Found{Err: err}, l.found[i])
	}
	require.Equal(w, "/a/b", string(l.found[6].Data))
}

// furnish makes what aLook looks at.
func furnish(w *world, s *session.Session) {
	w.Helper()
	for _, path := range []string{"/a", "/a/b"} {
		_, err := s.Create(w.ctx, path, []byte(path), session.Parents())
		require.NoError(w, err)
	}
	_, err := s.Create(w.ctx, "/a/closed", nil, session.NodeACL(session.AnyoneACL(session.PermAll&^session.PermRead)...))
	require.NoError(w, err)
}

func TestALook(t *testing.T) {
	everywhere(t, func(w *world, s *session.Session) {
		t := w.client(s)
		furnish(w, s)
		aLook(w, s, t)
		if w.srv != nil {
			require.Contains(w, w.requests(), "multiRead")
		}
		require.ErrorIs(w, t.look(w, 2, session.Query{Path: "/a"}).err, session.ErrExpired, "an epoch that has not begun")
		require.Empty(w, t.look(w, 1).found)
		var many []session.Query
		for range 500 {
			many = append(many, session.Query{Path: "/a"}, session.Query{Path: "/a", Children: true})
		}
		l := t.look(w, 1, many...)
		require.NoError(w, l.err)
		for i, f := range l.found {
			require.NoError(w, f.Err)
			require.Len(w, f.Names, i%2*2)
		}
		require.NoError(w, s.Close(w.ctx))
		require.ErrorIs(w, t.look(w, 1, session.Query{Path: "/a"}).err, session.ErrClosed)
	})
}

// The connection is lost under it, or the server is slow, or lacks the request: it is answered all
// the same, once.
func TestALookThatIsLost(t *testing.T) {
	t.Parallel()
	for name, fate := range fates {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				s := w.open()
				t := w.client(s)
				furnish(w, s)
				w.cutOnce(fate, func(r *zktest.Request) bool { return r.Op == zktest.OpMultiRead })
				aLook(w, s, t)
			})
		})
	}
}

// ZooKeeper before 3.6 says that it does not know the request, and hangs up. Then there is a
// request for each read, in the same trip; that is remembered for the epoch.
func TestALookAtAnOldServer(t *testing.T) {
	t.Parallel()
	for name, old := range map[string]func(w *world) (asked func() int){
		"says so": func(w *world) func() int {
			n := 0
			w.intercept(func(r *zktest.Request) zktest.Verdict {
				if r.Op != zktest.OpMultiRead {
					return zktest.Pass
				}
				n++
				time.AfterFunc(0, func() { w.srv.Disconnect(r.SessionID) })
				return zktest.Fail(zktest.ErrUnimplemented)
			})
			return func() (all int) {
				w.script(func() { all = n })
				return all
			}
		},
		"hangs up": func(w *world) func() int {
			return w.hangsUp(func(r *zktest.Request) bool { return r.Op == zktest.OpMultiRead })
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				asked := old(w)
				s := w.open()
				t := w.client(s)
				furnish(w, s)
				aLook(w, s, t)
				n := asked()
				require.LessOrEqual(w, n, 2)
				w.requests()
				aLook(w, s, t)
				require.Equal(w, n, asked())
				reads := slices.DeleteFunc(w.requests(), func(r string) bool {
					return !strings.HasPrefix(r, "getChildren /") && !strings.HasPrefix(r, "getData /")
				})
				require.Equal(w, []string{
					"getData /a", "getChildren /a", "getData /none", "getChildren /none", "getData /a/closed", "getChildren /a/closed", "getData /a/b",
				}, reads[:7])
				require.EqualValues(w, 1, s.Status().Epoch)
			})
		})
	}
}
