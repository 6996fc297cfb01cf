package naming_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/naming"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestANameMeansWhatItWasBoundTo(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		n, s := names(w)
		other, _ := names(w)
		require.Empty(w, means(w, n, "db/primary"))
		require.NoError(w, n.Bind(w.Context(), "db/primary", []byte("a")))
		require.Equal(w, "a", means(w, other, "db/primary"))
		require.NoError(w, other.Bind(w.Context(), "db/primary", []byte("b")))
		require.Equal(w, "b", means(w, n, "db/primary"))
		require.Empty(w, means(w, n, "db"), "it is only on the way")
		require.ErrorIs(w, n.Bind(w.Context(), "db/primary", []byte("c"), naming.IfFree()), naming.ErrBound)
		require.NoError(w, n.Bind(w.Context(), "db", []byte("all"), naming.IfFree()))
		require.Equal(w, "all", means(w, n, "db"))
		require.NoError(w, n.Unbind(w.Context(), "db"))
		require.Empty(w, means(w, n, "db"))
		require.Equal(w, "b", means(w, n, "db/primary"), "a name below it goes on")
		require.ErrorIs(w, n.Unbind(w.Context(), "db"), naming.ErrNotBound)
		require.NoError(w, n.Unbind(w.Context(), "db/primary"))
		children, _, err := s.Children(w.Context(), root)
		require.NoError(w, err)
		require.Empty(w, children, "nobody needs what was on the way any more")
		require.NoError(w, n.Bind(w.Context(), "db/primary", []byte("d"), naming.IfFree()))
	})
}

func TestList(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		n, _ := names(w)
		all, err := n.List(w.Context(), "")
		require.NoError(w, err)
		require.Empty(w, all)
		for _, name := range []string{"db", "db/b", "db/a/x", "dbx", "web"} {
			require.NoError(w, n.Bind(w.Context(), name, []byte(name)))
		}
		for prefix, want := range map[string]string{
			"": "db db/a/x db/b dbx web", "db": "db db/a/x db/b", "db/a": "db/a/x", "web": "web", "none": "", "db/none/x": "",
		} {
			all, err := n.List(w.Context(), prefix)
			require.NoError(w, err)
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
		cancel()
		bubble.Closes(w, seen)
		bubble.Closed(w, n.Observe(w.Context(), ""))
		seen = n.Observe(w.Context(), "db")
		bubble.Within(w, time.Second, seen)
		require.NoError(w, s.Close(w.Context()))
		bubble.Closes(w, seen)
	})
}

func TestBadInput(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		n, s := names(w)
		before := w.Server.Dump()
		_, err := naming.New(nil, root)
		require.ErrorContains(w, err, "s: nil")
		_, err = naming.New(s, "names")
		require.ErrorIs(w, err, session.ErrInvalidPath)
		for _, bad := range []string{"", "/a", "a/", "a//b", "a/../b", "a\x00"} {
			for what, try := range map[string]func() error{
				"Bind":   func() error { return n.Bind(w.Context(), bad, []byte("x")) },
				"Unbind": func() error { return n.Unbind(w.Context(), bad) },
				"Lookup": func() error { _, err := n.Lookup(w.Context(), bad); return err },
			} {
				err := try()
				require.ErrorIs(w, err, session.ErrInvalidPath, "%s %q", what, bad)
				require.ErrorContains(w, err, "name", "%s %q", what, bad)
			}
		}
		_, err = n.List(w.Context(), "/a")
		require.ErrorContains(w, err, "prefix")
		require.ErrorContains(w, n.Bind(w.Context(), "a", nil), "value: empty")
		require.ErrorContains(w, n.Bind(w.Context(), "a", []byte("x"), nil), "opts[0]")
		err = n.Bind(w.Context(), "a", make([]byte, 2<<20))
		require.ErrorIs(w, err, session.ErrTooLarge)
		require.ErrorContains(w, err, "value")
		require.Equal(w, before, w.Server.Dump())
		ctx, cancel := context.WithCancel(w.Context())
		cancel()
		require.ErrorIs(w, n.Bind(ctx, "a", []byte("x")), context.Canceled)
		_, err = n.Lookup(ctx, "a")
		require.ErrorIs(w, err, context.Canceled)
		require.NoError(w, s.Close(w.Context()))
		require.ErrorIs(w, n.Bind(w.Context(), "a", []byte("x")), session.ErrClosed)
		require.ErrorIs(w, n.Unbind(w.Context(), "a"), session.ErrClosed)
		_, err = n.List(w.Context(), "")
		require.ErrorIs(w, err, session.ErrClosed)
		_, err = naming.New(s, root)
		require.ErrorIs(w, err, session.ErrClosed)
	})
}

// Whichever request or reply is lost, everything is done once.
func TestLostReplies(t *testing.T) {
	t.Parallel()
	bubble.EachFate(t, func(w *bubble.World, k int, strike func(s *session.Session)) {
		n, s := names(w)
		other, _ := names(w)
		strike(s)
		what := fmt.Sprintf("at %d", k)
		require.NoError(w, n.Bind(w.Context(), "a/b", []byte("1"), naming.IfFree()), what)
		require.Equal(w, "1", means(w, n, "a/b"), what)
		require.NoError(w, n.Bind(w.Context(), "a/b", []byte("2")), what)
		require.NoError(w, n.Bind(w.Context(), "a", []byte("3"), naming.IfFree()), what)
		all, err := n.List(w.Context(), "")
		require.NoError(w, err, what)
		require.Len(w, all, 2, what)
		require.NoError(w, n.Unbind(w.Context(), "a"), what)
		require.Equal(w, "2", means(w, other, "a/b"), what)
		require.NoError(w, n.Unbind(w.Context(), "a/b"), what)
		all, err = other.List(w.Context(), "")
		require.NoError(w, err, what)
		require.Empty(w, all, what)
	}, bubble.Brisk()...)
}

// One of many who bind a name that is free wins.
func TestOneWins(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		for round := range 20 {
			var won atomic.Int64
			var all sync.WaitGroup
			for i := range 8 {
				n, _ := names(w)
				all.Go(func() {
					err := n.Bind(w.Context(), fmt.Sprint("deep/below/r", round), []byte{byte(i + 1)}, naming.IfFree())
					if err == nil {
						won.Add(1)
					}
				})
			}
			all.Wait()
			require.EqualValues(w, 1, won.Load())
		}
	})
}

// operation is what somebody did with the one name of a history.
type operation struct {
	do    string
	value string
}

// register is what a name service is for one name: it means what it was last bound to.
var register = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, in, out any) (bool, any) {
		now, op, got := state.(string), in.(operation), out.(string)
		switch op.do {
		case "bind":
			return true, op.value
		case "claim":
			if got == "bound" {
				return now != "", now
			}
			if got == "unknown" && now != "" {
				return true, now
			}
			return now == "", op.value
		case "unbind":
			if got == "not bound" {
				return now == "", now
			}
			return now != "" || got == "unknown", ""
		}
		return now == got, now
	},
}

// What several clients do with one name, and see, while connections break and sessions expire, is a
// history that one register could have had.
func TestHistoryUnderFaults(t *testing.T) {
	t.Parallel()
	for seed := range 6 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			inBubble(t, func(w *bubble.World) {
				began := time.Now()
				var mu sync.Mutex
				var history []porcupine.Operation
				var all sync.WaitGroup
				var sessions []*session.Session
				for id := range 4 {
					n, s := names(w)
					sessions = append(sessions, s)
					all.Go(func() {
						for i := range 25 {
							time.Sleep(time.Duration(7*(id+1)+seed) * time.Millisecond)
							op := operation{[]string{"bind", "lookup", "claim", "lookup", "unbind"}[(i+id)%5], fmt.Sprint(id, ".", i)}
							from := time.Since(began)
							out, ok := carryOut(w, n, op)
							mu.Lock()
							until := time.Since(began)
							if !ok { // it may have happened, then or never; and whoever did it is somebody else from now on
								until = 24 * time.Hour
							}
							history = append(history, porcupine.Operation{ClientId: id, Input: op, Output: out, Call: int64(from), Return: int64(until)})
							mu.Unlock()
							if !ok {
								return
							}
						}
					})
				}
				remove := w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
					if r.Op == zktest.OpPing || r.Op == zktest.OpConnect {
						return zktest.Pass
					}
					return zktest.Delay(time.Duration(r.Xid%7) * time.Millisecond)
				})
				for i := range 20 {
					time.Sleep(time.Duration(43+seed*5) * time.Millisecond)
					id := sessions[i%4].Status().SessionID
					if i%5 == 2 {
						w.Server.Expire(id)
					} else {
						w.Server.Disconnect(id)
					}
				}
				all.Wait()
				remove()
				require.Greater(w, len(history), 60)
				require.Equal(w, porcupine.Ok, porcupine.CheckOperationsTimeout(register, history, time.Minute))
			})
		})
	}
}

func carryOut(w *bubble.World, n *naming.Names, op operation) (out string, ok bool) {
	var err error
	var b naming.Binding
	switch op.do {
	case "bind":
		err = n.Bind(w.Context(), "x", []byte(op.value))
	case "claim":
		if err = n.Bind(w.Context(), "x", []byte(op.value), naming.IfFree()); errorIs(err, naming.ErrBound) {
			return "bound", true
		}
	case "unbind":
		if err = n.Unbind(w.Context(), "x"); errorIs(err, naming.ErrNotBound) {
			return "not bound", true
		}
	case "lookup":
		if b, err = n.Lookup(w.Context(), "x"); errorIs(err, naming.ErrNotBound) {
			return "", true
		}
	}
	if errorIs(err, session.ErrUnknownOutcome) {
		return "unknown", false
	}
	if err != nil {
		w.Error(err)
	}
	return string(b.Value), true
}
