package naming_test

// The meaning of a name to Lookup, List and Observe, and the costs.

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/naming"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestANameMeansWhatItWasBoundTo(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		n, s := names(w)
		other, _ := names(w)
		require.Empty(w, means(w, n, "db/orders/primary"))
		require.NoError(w, n.Bind(w.Context(), "db/orders/primary", []byte("a")))
		require.Equal(w, "a", means(w, other, "db/orders/primary"))
		require.NoError(w, other.Bind(w.Context(), "db/orders/primary", []byte("b")))
		require.Equal(w, "b", means(w, n, "db/orders/primary"))
		require.Empty(w, means(w, n, "db"), "it is only a parent")
		require.ErrorIs(w, n.Bind(w.Context(), "db/orders/primary", []byte("c"), naming.WithoutReplacing()), naming.ErrBound)
		require.NoError(w, n.Bind(w.Context(), "db", []byte("all"), naming.WithoutReplacing()))
		require.Equal(w, "all", means(w, n, "db"))
		require.NoError(w, n.Unbind(w.Context(), "db"))
		require.Empty(w, means(w, n, "db"))
		require.Equal(w, "b", means(w, n, "db/orders/primary"), "a name below it goes on")
		require.ErrorIs(w, n.Unbind(w.Context(), "db"), naming.ErrNotBound)
		require.NoError(w, n.Unbind(w.Context(), "db/orders/primary"))
		children, _, err := s.Children(w.Context(), root)
		require.NoError(w, err)
		require.Empty(w, children, "the parents are not needed any more")
		require.NoError(w, n.Bind(w.Context(), "db/orders/primary", []byte("d"), naming.WithoutReplacing()))
	})
}

// A bound znode has an odd version, a parent an even one, however often they change.
func TestVersionsTellABindingFromAParent(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		n, s := names(w)
		must(s.Create(w.Context(), root+"/a", []byte("of another client"), session.Parents()))
		for range 3 {
			for _, value := range []string{"1", "2", ""} {
				if value == "" {
					require.NoError(w, n.Unbind(w.Context(), "a"))
				} else {
					require.NoError(w, n.Bind(w.Context(), "a", []byte(value)))
				}
				require.NoError(w, n.Bind(w.Context(), "a/b", []byte("x"))) // so that a stays
				_, stat, err := s.Get(w.Context(), root+"/a")
				require.NoError(w, err)
				require.Equal(w, value != "", stat.Version&1 == 1, stat.Version)
			}
		}
	})
}

func TestList(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		n, _ := names(w)
		all := must(n.List(w.Context(), ""))
		require.Empty(w, all)
		marked := "_c_01234567-89ab-4def-8123-456789abcdef-x" // like a marker of a change, but for its end
		require.NoError(w, n.Bind(w.Context(), marked, []byte("x")))
		require.Len(w, must(n.List(w.Context(), "")), 1)
		require.NoError(w, n.Unbind(w.Context(), marked))
		for _, name := range []string{"db", "db/b", "db/a/x", "dbx", "web"} {
			require.NoError(w, n.Bind(w.Context(), name, []byte(name)))
		}
		for prefix, want := range map[string]string{
			"": "db db/a/x db/b dbx web", "db": "db db/a/x db/b", "db/a": "db/a/x", "web": "web", "none": "", "db/none/x": "",
		} {
			all := must(n.List(w.Context(), prefix))
			var got []string
			for _, b := range all {
				require.Equal(w, b.Name, string(b.Value))
				got = append(got, b.Name)
			}
			require.Equal(w, want, strings.Join(got, " "), prefix)
		}
	})
}

// B67, B68, B69: bound, bound anew, unbound, bound again, in sight or not.
func TestObserve(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		n, s := names(w)
		other, _ := names(w)
		ctx, cancel := context.WithCancel(w.Context())
		seen := n.Observe(ctx, "db")
		require.Equal(w, naming.Binding{Name: "db"}, bubble.Within(w, time.Second, seen))
		for _, value := range []string{"a", "b"} {
			require.NoError(w, other.Bind(w.Context(), "db", []byte(value)))
			require.Equal(w, value, string(bubble.Within(w, time.Second, seen).Value))
		}
		require.NoError(w, other.Unbind(w.Context(), "db"))
		require.False(w, bubble.Within(w, time.Second, seen).Bound)
		require.NoError(w, other.Bind(w.Context(), "db", []byte("c")))
		before := bubble.Within(w, time.Second, seen)
		heal := w.Server.Partition(s.Status().SessionID)
		time.Sleep(5 * time.Second)
		stale := bubble.Within(w, time.Second, seen)
		require.True(w, stale.Stale)
		require.Equal(w, "c", string(stale.Value))
		require.NoError(w, other.Unbind(w.Context(), "db"))
		require.NoError(w, other.Bind(w.Context(), "db", []byte("d")))
		heal()
		time.Sleep(30 * time.Second)
		now := bubble.Within(w, time.Second, seen)
		require.Equal(w, before.Version, now.Version)
		require.Greater(w, now.Czxid, before.Czxid)
		require.Equal(w, "d", string(now.Value))
		w.Server.Expire(s.Status().SessionID)
		time.Sleep(time.Minute)
		require.NoError(w, other.Bind(w.Context(), "db", []byte("e")))
		synctest.Wait()
		require.Equal(w, "e", string(bubble.Within(w, time.Second, seen).Value), "after an expiry")
		require.Equal(w, 1, w.Watches(s))
		cancel()
		bubble.Closes(w, seen)
		require.Zero(w, w.Watches(s), "a watch is left")
		bubble.Closed(w, n.Observe(w.Context(), ""))
		seen = n.Observe(w.Context(), "db")
		bubble.Within(w, time.Second, seen)
		require.NoError(w, s.Close(w.Context()))
		bubble.Closes(w, seen)
	})
}

// B75: each call sees all changes that any client was told of before, also where the server lags
// behind. A leader, which is the second of two here, does not catch up at a sync.
func TestB75_NamesAreUpToDate(t *testing.T) {
	t.Parallel()
	for lagging, name := range []string{"a follower", "the leader"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(w *bubble.World) {
				on := func(i int) *naming.Names {
					n := must(naming.New(w.SessionOn(i), root))
					return n
				}
				near, far := on(1-lagging), on(lagging)
				bind := func(value string) {
					w.Server.Lag(lagging, 100)
					require.NoError(w, near.Bind(w.Context(), "db", []byte(value)))
				}
				bind("a")
				require.Equal(w, "a", means(w, far, "db"))
				bind("b")
				all := must(far.List(w.Context(), ""))
				require.Len(w, all, 1)
				require.Equal(w, "b", string(all[0].Value))
				bind("c")
				require.NoError(w, far.Bind(w.Context(), "db", []byte("d")), "over what it did not know")
				require.Equal(w, "d", means(w, near, "db"))
				w.Server.Lag(lagging, 100)
				require.NoError(w, near.Unbind(w.Context(), "db"))
				require.NoError(w, far.Bind(w.Context(), "db", []byte("e"), naming.WithoutReplacing()))
				require.NoError(w, near.Unbind(w.Context(), "db"))
				require.Empty(w, means(w, far, "db"))
				bind("f")
				require.NoError(w, far.Unbind(w.Context(), "db"))
				require.Empty(w, means(w, near, "db"))
			}, zktest.WithServers(2))
		})
	}
}

// The costs are those of docs/recipes/naming.md.
func TestCosts(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		n, s := names(w)
		watcher, _ := names(w)
		require.NoError(w, n.Bind(w.Context(), "db/primary", []byte("a")))
		seen := watcher.Observe(w.Context(), "db/primary")
		bubble.Within(w, time.Second, seen)
		cost := func(f func()) (requests, fired int) {
			synctest.Wait()
			w.Server.ClearJournal()
			f()
			synctest.Wait()
			for _, q := range w.Server.Journal() {
				fired += q.Fired
				if q.SessionID == s.Status().SessionID && q.Op != zktest.OpPing {
					requests++
				}
			}
			return requests, fired
		}
		requests, fired := cost(func() { require.NoError(w, n.Bind(w.Context(), "db/primary", []byte("b"))) })
		require.Equal(w, 3, requests, "Bind")
		require.Equal(w, 1, fired)
		require.Equal(w, "b", string(bubble.Within(w, time.Second, seen).Value))
		requests, _ = cost(func() { require.Equal(w, "b", means(w, n, "db/primary")) })
		require.Equal(w, 2, requests, "Lookup")
		requests, _ = cost(func() {
			all := must(n.List(w.Context(), ""))
			require.Len(w, all, 1)
		})
		require.Equal(w, 1+2*3, requests, "List: of /names, db and db/primary")
		requests, _ = cost(func() { require.NoError(w, n.Unbind(w.Context(), "db/primary")) })
		require.Equal(w, 5+2, requests, "Unbind, and db, which is not needed any more")
	})
}

func TestMain(m *testing.M) { tier.Main(m) }

const root = "/names"

// inBubble runs a test in virtual time.
func inBubble(t *testing.T, f func(w *bubble.World)) {
	t.Helper()
	t.Parallel()
	bubble.Run(t, f, bubble.Brisk()...)
}

func names(w *bubble.World) (*naming.Names, *session.Session) {
	w.Helper()
	s := w.Session(session.WithTimeout(6 * time.Second))
	n := must(naming.New(s, root))
	return n, s
}

// means is the value of a name, "" if it means nothing.
func means(w *bubble.World, n *naming.Names, name string) string {
	w.Helper()
	b, err := n.Lookup(w.Context(), name)
	if err != nil {
		require.ErrorIs(w, err, naming.ErrNotBound)
		return ""
	}
	require.Equal(w, name, b.Name)
	require.True(w, b.Bound)
	return string(b.Value)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
