package naming_test

// Names while replies are lost, connections break and sessions expire. With servers that die, they
// are a workload of test/chaos.

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/naming"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// Whichever request or reply is lost, everything is done once.
func TestLostReplies(t *testing.T) {
	t.Parallel()
	bubble.EachFate(t, func(w *bubble.World, k int, strike func(s *session.Session)) {
		n, s := names(w)
		other, _ := names(w)
		strike(s)
		what := fmt.Sprintf("at %d", k)
		require.NoError(w, n.Bind(w.Context(), "a/b", []byte("1"), naming.WithoutReplacing()), what)
		require.Equal(w, "1", means(w, n, "a/b"), what)
		require.NoError(w, n.Bind(w.Context(), "a/b", []byte("2")), what)
		require.NoError(w, n.Bind(w.Context(), "a", []byte("3"), naming.WithoutReplacing()), what)
		all := must(n.List(w.Context(), ""))
		require.Len(w, all, 2, what)
		require.NoError(w, n.Unbind(w.Context(), "a"), what)
		require.Equal(w, "2", means(w, other, "a/b"), what)
		require.NoError(w, n.Unbind(w.Context(), "a/b"), what)
		all = must(other.List(w.Context(), ""))
		require.Empty(w, all, what)
	}, bubble.Brisk()...)
}

// before has another client act once, just before the server carries out the first request of a
// session that is the one. done tells how that went, and that it was done.
func before(w *bubble.World, s *session.Session, isIt func(*zktest.Request) bool, act func() error) (done func()) {
	w.Helper()
	var acts []error
	stop := w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
		if r.SessionID == s.Status().SessionID && isIt(r) && acts == nil {
			acts = append(acts, errors.New("under way")) // its own requests come here too
			acts[0] = act()
		}
		return zktest.Pass
	})
	return func() {
		w.Helper()
		stop()
		require.Equal(w, []error{nil}, acts)
	}
}

func sets(r *zktest.Request) bool { return r.Op == zktest.OpMulti && r.Ops[0].Op == zktest.OpSetData }

func prunes(r *zktest.Request) bool { return r.Op == zktest.OpDelete && r.Path == root+"/a" }

// A name is bound while Unbind deletes what is above another: it stays.
func TestUnbindLeavesWhatIsBoundMeanwhile(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		n, s := names(w)
		other, _ := names(w)
		require.NoError(w, n.Bind(w.Context(), "a/b", []byte("1")))
		done := before(w, s, prunes, func() error { return other.Bind(w.Context(), "a", []byte("2")) })
		require.NoError(w, n.Unbind(w.Context(), "a/b"))
		done()
		require.Equal(w, "2", means(w, n, "a"))
	})
}

// Two unbind a name that has names below it, so that its znode stays: one of them finds it bound.
func TestOneOfTwoUnbindsANameAboveOthers(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		n, s := names(w)
		other, _ := names(w)
		require.NoError(w, n.Bind(w.Context(), "a", []byte("1")))
		require.NoError(w, n.Bind(w.Context(), "a/b", []byte("2")))
		done := before(w, s, sets, func() error { return other.Unbind(w.Context(), "a") })
		require.ErrorIs(w, n.Unbind(w.Context(), "a"), naming.ErrNotBound)
		done()
	})
}

// A parent that Unbind has read, and is about to delete, is deleted by another client and created
// again, as a name that is bound: it stays.
func TestUnbindLeavesWhatReplacedAParent(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		n, s := names(w)
		other, _ := names(w)
		require.NoError(w, n.Bind(w.Context(), "a/b", []byte("1")))
		done := before(w, s, prunes, func() error {
			return errors.Join(other.Bind(w.Context(), "a/c", []byte("1")), other.Unbind(w.Context(), "a/c"), other.Bind(w.Context(), "a", []byte("2")))
		})
		require.NoError(w, n.Unbind(w.Context(), "a/b"))
		done()
		require.Equal(w, "2", means(w, n, "a"))
	})
}

// A parent that Bind has read, and is about to bind if it is free, is deleted by another client and
// created again, as a name that is bound: it is not free.
func TestWithoutReplacingLeavesWhatReplacedAParent(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		n, s := names(w)
		other, _ := names(w)
		require.NoError(w, n.Bind(w.Context(), "a/b", []byte("1")))
		done := before(w, s, sets, func() error {
			return errors.Join(other.Unbind(w.Context(), "a/b"), other.Bind(w.Context(), "a", []byte("2"), naming.WithoutReplacing()))
		})
		require.ErrorIs(w, n.Bind(w.Context(), "a", []byte("3"), naming.WithoutReplacing()), naming.ErrBound)
		done()
		require.Equal(w, "2", means(w, n, "a"))
	})
}

// A name that Unbind has read, and is about to unbind, is unbound by another client, and its znode
// is deleted and created again, as a parent: it is not bound.
func TestUnbindDoesNotTakeAParentForTheName(t *testing.T) {
	t.Parallel()
	for step, c := range map[string]func(*zktest.Request) bool{
		"about to delete it":       func(r *zktest.Request) bool { return r.Op == zktest.OpMulti && r.Ops[0].Op == zktest.OpDelete },
		"about to delete its data": sets,
	} {
		t.Run(step, func(t *testing.T) {
			inBubble(t, func(w *bubble.World) {
				n, s := names(w)
				other, _ := names(w)
				require.NoError(w, n.Bind(w.Context(), "a", []byte("1")))
				require.NoError(w, n.Bind(w.Context(), "a/b", []byte("2")))
				done := before(w, s, c, func() error {
					return errors.Join(other.Unbind(w.Context(), "a/b"), other.Unbind(w.Context(), "a"), other.Bind(w.Context(), "a/b", []byte("3")))
				})
				require.ErrorIs(w, n.Unbind(w.Context(), "a"), naming.ErrNotBound)
				done()
				require.Equal(w, "3", means(w, n, "a/b"))
			})
		})
	}
}

// operation is what a client does with the one name of a history.
type operation struct {
	do    string // "bind", "claim" (bind if it is free), "unbind" or "lookup"
	value string
}

// register is what a name service is for one name: it means what it was last bound to. The output
// of a lookup is the value; of the others it is "", "refused" or "unknown".
var register = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, in, out any) (bool, any) {
		now, op, got := state.(string), in.(operation), out.(string)
		mayRefuse := (now != "") == (op.do == "claim")
		switch {
		case op.do == "lookup":
			return now == got, now
		case op.do == "bind":
			return true, op.value
		case got == "refused", got == "unknown" && mayRefuse:
			return mayRefuse, now
		case op.do == "claim":
			return now == "", op.value
		}
		return now != "", ""
	},
}

// The operations of several clients on one name, while connections break and sessions expire, are a
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
							if !ok { // the operation may still happen, beside what this client does next, or never
								until = 24 * time.Hour
							}
							history = append(history, porcupine.Operation{ClientId: id, Input: op, Output: out, Call: int64(from), Return: int64(until)})
							mu.Unlock()
						}
					})
				}
				defer w.Server.Intercept(bubble.Slowly(uint64(seed)))()
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
				require.Len(w, history, 4*25)
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
		err = n.Bind(w.Context(), "x", []byte(op.value), naming.WithoutReplacing())
	case "unbind":
		err = n.Unbind(w.Context(), "x")
	case "lookup":
		if b, err = n.Lookup(w.Context(), "x"); errors.Is(err, naming.ErrNotBound) {
			return "", true
		}
	}
	switch {
	case errors.Is(err, naming.ErrBound), errors.Is(err, naming.ErrNotBound):
		return "refused", true
	case errors.Is(err, session.ErrUnknownOutcome):
		return "unknown", false
	case err != nil:
		w.Error(err)
	}
	return string(b.Value), true
}
