// Creates whose answer is lost are resolved by looking for the znode: protected ones and
// contenders, in every form. Helpers: helper_test.go.

package session_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// Two creates with the same data are lost at once: each finds one of the two, and there is no
// third.
func TestTwoLostCreatesWithTheSameDataFindOneEach(t *testing.T) {
	inBubble(t, func(w *harness) {
		s := w.open()
		a, b := w.client(s), w.client(s)
		w.create(s, "/queue", nil)
		w.meets(zktest.DropReply, first(2, creates))
		j := session.Join{Parent: "/queue", Name: "n_", Form: znode.Plain, Data: []byte("host")}
		var paths [2]string
		for i, t := range []*client{a, b} {
			t.Join(1, j, func(joined session.Joined) { paths[i] = joined.Path })
		}
		time.Sleep(time.Minute)
		synctest.Wait() // for those who write the paths, too
		require.ElementsMatch(w, paths[:], w.ephemerals(id(s)))
		require.NotEqual(w, paths[0], paths[1])
	})
}

// One znode for all: the second client is refused, of this session or of another.
func TestAloneIsOneForAll(t *testing.T) {
	everywhere(t, func(w *harness, s *session.Session) {
		j := session.Join{Parent: "/", Name: "controller", Form: znode.Alone, Data: []byte("broker 1")}
		a, b, far := w.client(s), w.client(s), w.client(w.open())
		at, _ := znode.Split(s.Path("/controller"))
		same := session.Join{Parent: at, Name: "controller", Form: znode.Alone} // of a session without the namespace
		first := a.join(w, 1, j)
		require.NoError(w, first.Err)
		require.Equal(w, "/controller", first.Path)
		data, stat, err := s.Get(w.ctx, "/controller")
		require.NoError(w, err)
		require.Equal(w, "broker 1", string(data))
		require.Equal(w, stat.Czxid, first.Stat.Czxid)
		require.Equal(w, id(s), first.Stat.EphemeralOwner)
		for _, t := range []*client{a, b} {
			require.ErrorIs(w, t.join(w, 1, j).Err, session.ErrNodeExists)
		}
		require.ErrorIs(w, far.join(w, 1, same).Err, session.ErrNodeExists)
		require.Equal(w, []string{"/controller"}, a.Leftovers())
		require.Empty(w, b.Leftovers())
		b.remove(w, 1, "/controller")
		require.True(w, w.exists(s, "/controller"), "it is not b's to remove")
		a.remove(w, 1, "/controller")
		second := far.join(w, 1, same)
		require.NoError(w, second.Err)
		a.Leave()
		b.Leave()
		w.settle()
		require.True(w, w.exists(s, "/controller"), "nor is what a had before")
		far.remove(w, 1, second.Path)
	})
}

// It is deleted, and another client of the same process is quicker: each knows which is its own.
func TestEachKnowsWhatItHasAlone(t *testing.T) {
	inBubble(t, func(w *harness) {
		s := w.open()
		a, b := w.client(s), w.client(s)
		j := session.Join{Parent: "/", Name: "controller", Form: znode.Alone, Data: []byte("broker 1")}
		require.NoError(w, a.join(w, 1, j).Err)
		require.True(w, a.read(w, 1, "/controller", true).Exists)
		require.NoError(w, s.Delete(w.ctx, "/controller", -1))
		w.cutOnce(zktest.CutAfter, creates)
		require.NoError(w, b.join(w, 1, j).Err, "found, though the record still has the one before")
		require.Empty(w, a.standing(w))
		require.Equal(w, []string{"/controller"}, b.standing(w))
		a.Leave()
		synctest.Wait()
		require.Equal(w, []string{"/controller"}, w.ephemerals(id(s)))
		require.Equal(w, 1, session.RecordLen(s))
		b.Leave()
		synctest.Wait()
		require.Empty(w, w.ephemerals(id(s)))
		require.Zero(w, session.RecordLen(s))
	})
}

// The answer to a create is lost, and the session may not read what it has created: it finds it all
// the same, on each version.
func TestALostCreateOfWhatMayNotBeReadIsFound(t *testing.T) {
	t.Parallel()
	secretive := session.WithACL(session.AnyoneACL(session.PermAll &^ session.PermRead)...)
	lose := func(w *harness, s *session.Session) {
		w.cutOnce(zktest.CutAfter, func(r *zktest.Request) bool { return r.SessionID == id(s) && creates(r) })
	}
	for _, version := range zktest.Versions() {
		t.Run("protected, "+version, func(t *testing.T) {
			inBubble(t, func(w *harness) {
				s := w.open(secretive)
				lose(w, s)
				path := w.create(s, "/p-", nil, session.Protected(), session.Ephemeral())
				require.Equal(w, []string{path}, w.ephemerals(id(s)))
			}, zktest.WithVersion(version))
		})
		for name, form := range map[string]znode.Form{"named": znode.Dashed, "of the session": znode.OfSession, "plain": znode.Plain, "alone": znode.Alone} {
			t.Run(name+", "+version, func(t *testing.T) {
				inBubble(t, func(w *harness) {
					other := w.open()
					require.NoError(w, other.EnsurePath(w.ctx, "/queue"))
					s, client := w.openClient(secretive)
					lose(w, s)
					j := client.join(w, 1, session.Join{Parent: "/queue", Name: "lock-", Form: form, Data: []byte("me")})
					require.NoError(w, j.Err)
					require.Equal(w, []string{j.Path}, w.ephemerals(id(s)))
					client.remove(w, 1, j.Path)
					require.Empty(w, w.ephemerals(id(s)))
				}, zktest.WithVersion(version))
			})
		}
	}
}

// B75, B03: whatever single answer is lost on the way, a protected create makes one znode, and one
// that is given up leaves none.
func TestB75_ProtectedCreateIsResolvedByLooking(t *testing.T) {
	t.Parallel()
	for _, verdict := range []zktest.Verdict{zktest.CutBefore, zktest.CutAfter} {
		for k := 1; k <= 6; k++ {
			t.Run(fmt.Sprintf("%v of request %d", verdict, k), func(t *testing.T) {
				inBubble(t, func(w *harness) {
					s := w.open()
					n := 0
					w.intercept(func(r *zktest.Request) zktest.Verdict {
						if r.SessionID != id(s) || r.Op == zktest.OpPing || r.Op == zktest.OpConnect {
							return zktest.Pass
						}
						if n++; n == 1 { // the reconnection is to a server that lags behind, and only a sync gets it up to date
							w.srv.Lag(1, 1000)
							return zktest.CutAfter
						}
						if n == k {
							return verdict
						}
						return zktest.Pass
					})
					path := w.create(s, "/box/p-", nil, session.Parents(), session.Protected(), session.Sequential(), session.Ephemeral())
					require.Equal(w, []string{path}, w.ephemerals(id(s)))
				}, zktest.WithServers(2))
			})
		}
	}
}

// Two in a row are lost, the request and then the answer. What proved that the first look was of
// the present says nothing of the second, so a server that lags behind is asked to catch up again.
func TestEachLookForALostCreateIsOfThePresent(t *testing.T) {
	inBubble(t, func(w *harness) {
		s := w.open()
		fates := []zktest.Verdict{zktest.CutBefore, zktest.CutAfter}
		w.intercept(func(r *zktest.Request) zktest.Verdict {
			if !creates(r) || len(fates) == 0 {
				return zktest.Pass
			}
			fate := fates[0]
			fates = fates[1:]
			return fate
		})
		w.requests()
		path := w.create(s, "/p-", nil, session.Protected(), session.Ephemeral())
		require.Equal(w, []string{path}, w.ephemerals(id(s)))
		require.Equal(w, 2, w.transactions(), "checks")
	})
}

// B02: the znode that is found belongs to the session before. It is not one's own, and does not
// stay.
func TestB02_AFoundZnodeOfAnotherSessionIsNotOnesOwn(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, other := w.open(), w.open()
		require.NoError(w, s.EnsurePath(w.ctx, "/box"))
		w.cutOnce(zktest.CutAfter, func(r *zktest.Request) bool {
			if r.Op != zktest.OpCreate || r.SessionID != id(s) {
				return false
			}
			go func() { // ends at once: it needs the server, which is busy with this request
				names, _, _ := other.Children(w.ctx, "/box")
				for len(names) == 0 {
					names, _, _ = other.Children(w.ctx, "/box")
				}
				// The session ends, but its znode is still seen: here, since it is made again under
				// its name by another session.
				w.srv.Expire(r.SessionID)
				_, err := other.Create(w.ctx, "/box/"+names[0], nil, session.Ephemeral())
				assert.NoError(w, err)
			}()
			return true
		})
		path := w.create(s, "/box/p-", nil, session.Protected(), session.Ephemeral(), session.Sequential())
		stat, exists, err := s.Exists(w.ctx, path)
		require.NoError(w, err)
		require.True(w, exists)
		require.Equal(w, id(s), stat.EphemeralOwner)
		require.Len(w, w.children(s, "/box"), 1)
	})
}

// B03: the caller has left when the answer, or word of it, comes: nothing stays.
func TestB03_AProtectedCreateThatIsGivenUpLeavesNothing(t *testing.T) {
	pairs(t, map[string][]session.CreateOption{
		"ephemeral":  {session.Ephemeral(), session.Sequential()},
		"persistent": nil,
	}, map[string]zktest.Verdict{
		"late": zktest.Delay(3 * time.Second), "cut before": zktest.CutBefore, "cut after": zktest.CutAfter,
	}, func(w *harness, opts []session.CreateOption, verdict zktest.Verdict) {
		s, other := w.open(), w.open()
		var down time.Time // until when there is no connection to be had
		w.intercept(func(r *zktest.Request) zktest.Verdict {
			switch {
			case r.Op == zktest.OpConnect && time.Now().Before(down):
				return zktest.CutBefore
			case r.Op == zktest.OpCreate && down.IsZero():
				down = time.Now().Add(3 * time.Second)
				return verdict
			}
			return zktest.Pass
		})
		ctx := w.within(time.Millisecond)
		require.ErrorIs(w, errOf(s.Create(ctx, "/p-", nil, append(opts, session.Protected())...)), context.DeadlineExceeded)
		time.Sleep(10 * time.Second)
		require.NotContains(w, strings.Join(w.children(other, "/"), " "), "p-")
		require.EqualValues(w, 1, s.Status().Epoch)
	})
}

// So it is with a persistent one if the epoch ends before it is deleted: it goes in the next.
func TestAPersistentZnodeThatIsGivenUpGoesInTheNextEpoch(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, other := w.open(), w.open()
		ctx, cancel := context.WithCancel(w.ctx)
		expired := false
		w.srv.SlowHandshakes(time.Second) // the caller has left when there is a connection again
		w.intercept(func(r *zktest.Request) zktest.Verdict {
			switch {
			case r.Op == zktest.OpCreate:
				cancel()
				return zktest.CutAfter
			case r.Op == zktest.OpDelete && !expired:
				expired = true
				w.srv.Expire(r.SessionID)
				return zktest.CutBefore
			}
			return zktest.Pass
		})
		require.ErrorIs(w, errOf(s.Create(ctx, "/p-", nil, session.Protected())), context.Canceled)
		time.Sleep(10 * time.Second)
		require.EqualValues(w, 2, s.Status().Epoch, "it ended with the deletion")
		require.NotContains(w, strings.Join(w.children(other, "/"), " "), "p-")
	})
}

// The answer to a create is lost, and looking for the znode is refused too, for a while or for
// good. That says nothing of the create: an error that does would leave a znode that no client
// knows of.
func TestALostCreateThatCannotBeLookedForIsNotForgotten(t *testing.T) {
	each(t, map[string]zktest.Verdict{"overloaded": zktest.Fail(zktest.ErrThrottled), "not permitted": zktest.Fail(zktest.ErrNoAuth)}, func(w *harness, refusal zktest.Verdict) {
		s := w.open()
		require.NoError(w, s.EnsurePath(w.ctx, "/queue"))
		w.refuseAfterLoss(creates, zktest.OpGetChildren2, refusal)
		j := w.client(s).inQueue(w)
		require.Equal(w, []string{j.Path}, w.ephemerals(id(s)))

		s = w.open()
		w.refuseAfterLoss(creates, zktest.OpGetChildren2, refusal)
		path, err := s.Create(w.ctx, "/p-", nil, session.Protected(), session.Ephemeral())
		if err == nil {
			require.Equal(w, zktest.Fail(zktest.ErrThrottled), refusal)
			require.Equal(w, []string{path}, w.ephemerals(id(s)))
			return
		}
		require.Equal(w, zktest.Fail(zktest.ErrNoAuth), refusal)
		isAll(w, err, session.ErrUnknownOutcome, session.ErrNoAuth)
	})
}
