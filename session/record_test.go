// The record of what clients have, or may have, in ZooKeeper: made before the request, true after a
// lost answer, and all that a client leaves is deleted, and no more. Helpers: helper_test.go.

package session_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// What a client asks to be created is in the record when the request returns. An incarnation that
// crashes right after that has a successor that recovers, and has to wait for it.
func TestWhatIsAskedForIsInTheRecordAtOnce(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, t := w.openClient()
		for i := range 200 {
			before := session.RecordLen(s)
			t.Join(1, session.Join{Parent: "/queue", Name: "lock-"}, func(session.Joined) {})
			require.Equal(w, before+1, session.RecordLen(s), "join %d", i)
			t.Commit(1, []session.Op{session.CreateOp(fmt.Sprintf("/%d", i), nil, session.Ephemeral())}, func([]session.Result, error) {})
			require.Equal(w, before+2, session.RecordLen(s), "commit %d", i)
			synctest.Wait()
		}
	})
}

func TestWhatATransactionCreatesIsTheClients(t *testing.T) {
	inBubble(t, func(w *harness) {
		s := w.open()
		require.NoError(w, s.EnsurePath(w.ctx, "/claims"))
		a, b := w.client(s), w.client(s)
		require.NoError(w, a.commit(w, 1, session.CreateOp("/claims/1", []byte("a"), session.Ephemeral()), session.CreateOp("/kept", nil)))
		require.ErrorIs(w, b.commit(w, 1, session.CreateOp("/claims/1", []byte("b"), session.Ephemeral())), session.ErrNodeExists)
		require.NoError(w, a.commit(w, 1, session.CreateOp("/claims/2", nil, session.Ephemeral())))
		require.NoError(w, a.commit(w, 1, session.CreateOp("/claims/s", nil, session.Ephemeral(), session.Sequential())))
		require.NoError(w, a.commit(w, 1, session.DeleteOp("/claims/2", -1)))
		standing := a.standing(w)
		require.ElementsMatch(w, w.ephemerals(id(s)), standing)
		require.Len(w, standing, 2)
		require.Empty(w, b.standing(w))

		b.Leave()
		synctest.Wait()
		require.Len(w, w.children(s, "/claims"), 2, "what b was refused is not b's to delete")

		a.Leave()
		synctest.Wait()
		require.Empty(w, w.children(s, "/claims"))
		require.True(w, w.exists(s, "/kept"), "only ephemeral znodes go with the client")
	})
}

// After a lost answer, the record knows whose znode it is that stands there.
func TestTheRecordKnowsWhoseAClaimOfUnknownOutcomeIs(t *testing.T) {
	type row struct {
		verdict zktest.Verdict
		rival   bool     // another client's znode is there
		stands  []string // what a recovery of the client finds
		left    bool     // the client leaves before the outcome is known
	}
	each(t, map[string]row{
		"request lost":              {verdict: zktest.CutBefore},
		"request lost, rival there": {verdict: zktest.CutBefore, rival: true},
		"answer lost":               {verdict: zktest.CutAfter, stands: []string{"/claims/1"}},
		"answer lost, left at once": {verdict: zktest.CutAfter, left: true},
	}, func(w *harness, c row) {
		s := w.open()
		require.NoError(w, s.EnsurePath(w.ctx, "/claims"))
		a, b := w.client(s), w.client(s)
		if c.rival {
			require.NoError(w, b.commit(w, 1, session.CreateOp("/claims/1", []byte("b"), session.Ephemeral())))
		}
		w.cutOnce(c.verdict, func(r *zktest.Request) bool { return r.Op.Writes() })
		require.ErrorIs(w, a.commit(w, 1, session.CreateOp("/claims/1", []byte("a"), session.Ephemeral())), session.ErrUnknownOutcome)
		if !c.left {
			require.ElementsMatch(w, c.stands, a.standing(w))
		}
		a.Leave()
		synctest.Wait()
		require.Equal(w, c.rival, w.exists(s, "/claims/1"), "one's own goes, another's stays")
	})
}

func TestEnsureLeavesWhatExists(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, a := w.openClient()
		ensure := func(path string, container bool, data string) error {
			return wait(w, func(done func(error)) { a.Ensure(1, path, container, []byte(data), done) })
		}
		require.NoError(w, ensure("/deep/down/here", false, "x"))
		require.NoError(w, ensure("/deep/down/here", false, "y"))
		data, stat, err := s.Get(w.ctx, "/deep/down/here")
		require.NoError(w, err)
		require.Equal(w, "x", string(data), "what exists is left as it is")
		require.Zero(w, stat.EphemeralOwner, "it is persistent")
		require.NoError(w, ensure("/deep/box", true, ""))
		w.requests()
		require.NoError(w, ensure("/deep/other", true, ""))
		require.Contains(w, w.requests()[0], "createContainer")
		require.ErrorIs(w, ensure("nowhere", true, ""), session.ErrInvalidPath)
		w.cutOnce(zktest.CutAfter, func(r *zktest.Request) bool { return r.Op.Writes() })
		require.NoError(w, ensure("/lost/answer", false, "z"))
	})
}

// lose has a client create an ephemeral sequential znode whose answer is lost, or the request too,
// as the verdict says.
func (w *harness) lose(t *client, path, data string, verdict zktest.Verdict) {
	w.cutOnce(verdict, func(r *zktest.Request) bool {
		return r.Op == zktest.OpMulti && len(r.Ops) == 1 && r.Ops[0].Op != zktest.OpCheck
	})
	require.ErrorIs(w, t.commit(w, 1, session.CreateOp(path, []byte(data), session.Ephemeral(), session.Sequential())), session.ErrUnknownOutcome)
}

// Incarnations crash while they recover, and several recover at once. Each is told the same, and
// none that the epoch is over, since no EpochEnded would follow, for which a host waits then. The
// client may leave before they are told, or after that: nothing of it stays.
func TestRecoveriesThatLookAtOnceAgree(t *testing.T) {
	for round := range 70 {
		inBubbleHere(t, func(w *harness) {
			s, t := w.openClient()
			require.NoError(w, s.EnsurePath(w.ctx, "/queue"))
			w.lose(t, "/queue/n-", "mine", zktest.CutAfter)
			if round < 50 {
				w.recoverAtOnce(s, t)
			} else {
				t.Recover(1, func([]string, error) {})
			}
			t.Leave()
			w.pass(time.Second)
			require.Empty(w, w.ephemerals(id(s)), "the client has left: nothing of it stands")
		})
	}
}

func (w *harness) recoverAtOnce(s *session.Session, t *client) {
	require.Len(w, w.ephemerals(id(s)), 1)
	w.cutOnce(zktest.Delay(100*time.Millisecond), func(r *zktest.Request) bool { return r.Op == zktest.OpGetChildren2 }) // so that all have asked
	answers := make(chan []string, 3)
	for range 3 {
		t.Recover(1, func(standing []string, err error) {
			assert.NoError(w, err, "the epoch lives")
			answers <- standing
		})
	}
	for range 3 {
		require.Equal(w, w.ephemerals(id(s)), <-answers)
	}
	require.Equal(w, session.Connected, s.Status().State)
	require.EqualValues(w, 1, s.Status().Epoch)
}

// The application has a znode under the same name, with the same data, and the transaction whose
// answer was lost was not carried out.
func TestWhatTheApplicationMadeIsNoOrphan(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, t := w.openClient()
		require.NoError(w, s.EnsurePath(w.ctx, "/queue"))
		made := w.create(s, "/queue/n-", []byte("mine"), session.Ephemeral(), session.Sequential())
		w.lose(t, "/queue/n-", "mine", zktest.CutBefore)
		t.Leave()
		w.pass(time.Second)
		require.True(w, w.exists(s, made))
		require.Zero(w, session.RecordLen(s))
	})
}

// Where names come again, a znode that was deleted may have another's in its place by the time that
// another part of this process wants it deleted too: its client is given up, say, while the answer
// to its removal is on its way. What is there now is not deleted.
func TestAZnodeIsRemovedOnce(t *testing.T) {
	pairs(t, map[string]func(w *harness, t *client, path string){
		"the client is left": func(_ *harness, t *client, _ string) { t.Leave() },
		"removed again": func(w *harness, t *client, path string) {
			t.Remove(1, path, func(err error) {
				if err != nil {
					w.Error(err)
				}
			})
		},
	}, map[string]zktest.Verdict{
		"cut after": zktest.CutAfter, "cut before": zktest.CutBefore,
	}, func(w *harness, again func(w *harness, t *client, path string), verdict zktest.Verdict) {
		s, rival := w.open(), w.open()
		t := w.client(s)
		alone := session.Join{Parent: "/", Name: "only", Form: znode.Alone}
		path := t.join(w, 1, alone).Path
		mine := id(s)
		down, deleted := false, 0
		w.intercept(func(r *zktest.Request) zktest.Verdict {
			switch {
			case r.SessionID != mine:
			case r.Op == zktest.OpConnect && down:
				return zktest.CutBefore
			case r.Op == zktest.OpDelete:
				if deleted++; deleted == 1 {
					down = true
					return verdict
				}
			}
			return zktest.Pass
		})
		t.Remove(1, path, func(error) {})
		synctest.Wait()
		again(w, t, path)
		synctest.Wait()
		theirs := w.client(rival).join(w, 1, alone)
		if verdict == zktest.CutBefore {
			require.ErrorIs(w, theirs.Err, session.ErrNodeExists)
		} else {
			require.NoError(w, theirs.Err)
		}
		w.script(func() { down = false })
		w.pass(time.Minute)
		require.Zero(w, session.RecordLen(s))
		require.Equal(w, theirs.Err == nil, w.exists(rival, path), "what is there is the rival's")
	})
}

// A client leaves, and another's znode stands where its own did: deleted by a transaction whose
// answer was lost, or by another client. It is not deleted with what the client left behind.
func TestWhatStandsInTheOldPlaceIsLeftAlone(t *testing.T) {
	mine := session.CreateOp("/claim", []byte("mine"), session.Ephemeral())
	theirs := session.CreateOp("/claim", []byte("theirs"), session.Ephemeral())
	gone := session.DeleteOp("/claim", -1)
	pairs(t, map[string]func(w *harness, t *client, rival *session.Session){
		"the answer was lost": func(w *harness, t *client, _ *session.Session) {
			w.cutOnce(zktest.CutAfter, func(r *zktest.Request) bool { return r.Op == zktest.OpMulti })
			require.ErrorIs(w, t.commit(w, 1, gone), session.ErrUnknownOutcome)
			require.ErrorIs(w, t.commit(w, 1, gone), session.ErrNoNode)
		},
		"by another session": func(w *harness, _ *client, rival *session.Session) {
			require.NoError(w, rival.Delete(w.ctx, "/claim", -1))
		},
	}, map[string]bool{
		"of the same session": true, "of another session": false,
	}, func(w *harness, deleted func(w *harness, t *client, rival *session.Session), same bool) {
		s, rival := w.open(), w.open()
		t, other := w.client(s), w.client(rival)
		if same {
			other = w.client(s)
		}
		require.NoError(w, t.commit(w, 1, mine))
		deleted(w, t, rival)
		require.NoError(w, other.commit(w, 1, theirs))
		t.Leave()
		w.pass(time.Second)
		require.True(w, w.exists(rival, "/claim"), "it is the other's")
		other.Leave()
		w.pass(time.Second)
		require.Zero(w, session.RecordLen(s)+session.RecordLen(rival))
		require.False(w, w.exists(rival, "/claim"), "and is deleted with what that leaves behind")
	})
}

// The answer to a transaction that creates a znode is lost, and the record has another one at that
// path, which is gone: the transaction deleted it, or another session did. Whether the transaction
// was carried out or not, the client has at that path what is there, and leaves nothing behind.
func TestAZnodeCreatedAgainWithoutAnAnswerIsTheClients(t *testing.T) {
	create := session.CreateOp("/claim", nil, session.Ephemeral())
	remove := session.DeleteOp("/claim", -1)
	pairs(t, map[string]func(w *harness, rival *session.Session) []session.Op{
		"by the transaction": func(*harness, *session.Session) []session.Op { return []session.Op{remove, create} },
		"by another session": func(w *harness, rival *session.Session) []session.Op {
			require.NoError(w, rival.Delete(w.ctx, "/claim", -1))
			return []session.Op{create}
		},
	}, map[string]zktest.Verdict{
		"carried out": zktest.CutAfter, "not carried out": zktest.CutBefore,
	}, func(w *harness, deleted func(w *harness, rival *session.Session) []session.Op, fate zktest.Verdict) {
		s, rival := w.open(), w.open()
		leaving, removing := w.client(s), w.client(s)
		for _, t := range []*client{leaving, removing} {
			require.NoError(w, t.commit(w, 1, create))
			ops := deleted(w, rival)
			w.cutOnce(fate, func(r *zktest.Request) bool { return r.Op == zktest.OpMulti })
			require.ErrorIs(w, t.commit(w, 1, ops...), session.ErrUnknownOutcome)
			if t == removing {
				t.remove(w, 1, "/claim")
			} else {
				t.Leave()
			}
			w.pass(time.Second)
			require.False(w, w.exists(rival, "/claim"))
			require.Zero(w, session.RecordLen(s))
		}
	})
}

// What a transaction may have created is the client's if the session owns it. Where it may not be
// read, the owner tells.
func TestWhatMayNotBeReadIsToldByItsOwner(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, other := w.open(), w.open()
		t := w.client(s)
		for path, owner := range map[string]*session.Session{"/mine": s, "/theirs": other} {
			w.cutOnce(zktest.CutAfter, func(r *zktest.Request) bool { return r.Op == zktest.OpMulti })
			require.ErrorIs(w, t.commit(w, 1, session.CreateOp(path, nil, session.Ephemeral())), session.ErrUnknownOutcome)
			if owner == other {
				require.NoError(w, s.Delete(w.ctx, path, -1))
				w.create(other, path, nil, session.Ephemeral())
			}
		}
		w.meets(zktest.Fail(zktest.ErrNoAuth), func(r *zktest.Request) bool { return r.Op == zktest.OpGetData })
		require.Equal(w, recovered{standing: []string{"/mine"}}, t.recover(w, 1))
	})
}

// The host of a client restarts while an earlier transaction is not carried out yet: a server has
// no time for it, or there is no connection. The recovery waits, so that a read after it sees the
// transaction's outcome.
func TestARecoveryWaitsForTransactions(t *testing.T) {
	each(t, map[string]zktest.Verdict{"overloaded": zktest.Fail(zktest.ErrThrottled), "cut off": zktest.CutBefore}, func(w *harness, fate zktest.Verdict) {
		s, t := w.openClient()
		began := time.Now()
		w.meets(fate, func(r *zktest.Request) bool {
			return r.Op == zktest.OpMulti && len(r.Ops) == 2 && time.Since(began) < time.Second
		})
		var answered error
		over := false
		t.Commit(1, []session.Op{session.CreateOp("/one", nil), session.CreateOp("/two", nil)}, func(_ []session.Result, err error) {
			answered, over = err, true
		})
		wait(w, func(done func(struct{})) {
			t.Recover(1, func(_ []string, err error) {
				if err != nil || !over {
					w.Errorf("recovered before the transaction was answered: %v", err)
				}
				done(struct{}{})
			})
		})
		require.Equal(w, answered == nil, w.exists(s, "/two"))
		time.Sleep(time.Minute)
		require.Equal(w, answered == nil, w.exists(s, "/two"), "nothing turns up later")
	})
}

// An epoch's end is the end of what was under way in it, and the recovery does not wait for it.
func TestARecoveryEndsWithTheEpoch(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, t := w.openClient()
		mine := id(s)
		w.meets(zktest.Fail(zktest.ErrThrottled), func(r *zktest.Request) bool { return r.SessionID == mine && r.Op == zktest.OpMulti && len(r.Ops) == 2 })
		t.Commit(1, []session.Op{session.CreateOp("/one", nil), session.CreateOp("/two", nil)}, func([]session.Result, error) {})
		time.AfterFunc(time.Second, func() { w.srv.Expire(mine) })
		require.ErrorIs(w, t.recover(w, 1).err, session.ErrExpired)
	})
}

// A server that has no time for a transaction which deletes a znode of the client holds up no
// recovery: the znode is known, and once it is deleted otherwise, nothing comes of the transaction
// any more.
func TestARecoveryDoesNotWaitForADeparture(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, t, h := w.holding()
		w.create(s, "/record", nil)
		refusing := w.meets(zktest.Fail(zktest.ErrThrottled), func(r *zktest.Request) bool { return r.Op == zktest.OpMulti && len(r.Ops) == 2 })
		var answered error
		over := make(chan struct{})
		t.Commit(1, []session.Op{session.DeleteOp(h.Path(), -1), session.DeleteOp("/record", -1)}, func(_ []session.Result, err error) {
			answered = err
			close(over)
		})
		require.Equal(w, []string{h.Path()}, t.standing(w))
		t.remove(w, 1, h.Path())
		refusing()
		<-over
		require.Error(w, answered)
		require.True(w, w.exists(s, "/record"), "all or nothing")
	})
}

// A recovery ends with the znodes that exist, or with the epoch, whatever a server says meanwhile:
// its host can do nothing before.
func TestARecoveryIsNotPutOff(t *testing.T) {
	each(t, map[string]zktest.Op{"the check": zktest.OpMulti, "the read": zktest.OpExists}, func(w *harness, op zktest.Op) {
		_, t := w.openClient()
		path := t.inQueue(w).Path
		w.meets(zktest.Fail(zktest.ErrSystem), first(5, func(r *zktest.Request) bool { return r.Op == op }))
		require.Equal(w, recovered{standing: []string{path}}, t.recover(w, 1))
	})
}

// A client that was left is told nothing any more. So it gets no hold, of whose end it would have
// to be told.
func TestAClientThatWasLeftHoldsNothing(t *testing.T) {
	inBubble(t, func(w *harness) {
		_, t := w.openClient()
		j := t.inQueue(w)
		t.Leave()
		synctest.Wait()
		require.ErrorIs(w, errOf(t.Hold(1, j.Path, j.Stat.Czxid, func(error) {})), session.ErrReleased)
	})
}

func TestRemoveGoesOnUntilItIsDone(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, t := w.openClient()
		j := t.inQueue(w)
		require.NoError(w, errOf(s.SetACL(w.ctx, "/queue", session.AnyoneACL(session.PermAll&^session.PermDelete), -1)))
		removed := bubble.Begin(func() error { return wait(w, func(done func(error)) { t.Remove(1, j.Path, done) }) })
		time.Sleep(20 * time.Second)
		require.Len(w, w.ephemerals(id(s)), 1)
		require.NoError(w, errOf(s.SetACL(w.ctx, "/queue", session.AnyoneACL(session.PermAll), -1)))
		require.NoError(w, <-removed)
		require.Empty(w, w.ephemerals(id(s)))
		t.remove(w, 1, j.Path) // B04: once more does no harm
		t.remove(w, 9, j.Path) // nor does it in an epoch that is not

		// A remove that finds no connection ends with the epoch.
		j = t.inQueue(w)
		w.srv.Kill(0)
		removed = bubble.Begin(func() error { return wait(w, func(done func(error)) { t.Remove(1, j.Path, done) }) })
		w.srv.LoseSessions()
		require.NoError(w, w.srv.Restart(0))
		require.NoError(w, <-removed)
		require.Zero(w, session.RecordLen(s))
	})
}

func TestLeaveDeletesWhatStands(t *testing.T) {
	each(t, map[string]time.Duration{"what stands": 0, "what is being made": time.Second}, func(w *harness, delay time.Duration) {
		s, t := w.openClient()
		h := t.hold(w, 1, "/other")
		w.meets(zktest.Delay(delay), func(r *zktest.Request) bool { return r.Op == zktest.OpCreate2 && delay > 0 })
		t.Join(1, session.Join{Parent: "/other", Name: "lock-"}, func(session.Joined) {})
		if delay == 0 {
			synctest.Wait()
			require.Len(w, w.ephemerals(id(s)), 2)
		}
		t.told()
		t.Leave()
		t.Leave()
		<-h.Done()
		require.Equal(w, session.ErrReleased, h.Err())
		time.Sleep(5 * time.Second)
		require.Empty(w, w.ephemerals(id(s)))
		require.Zero(w, session.RecordLen(s))
		w.srv.Expire(id(s))
		require.NoError(w, s.Sync(w.ctx, "/"))
		require.Empty(w, t.told(), "an event after Leave")
	})
}

func TestRecoverTellsWhatReallyExists(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, other := w.open(), w.open()
		t := w.client(s)
		stands := t.inQueue(w).Path
		deleted := t.inQueue(w).Path
		require.NoError(w, other.Delete(w.ctx, deleted, -1))
		// Another is being made when the recovery begins.
		w.cutOnce(zktest.Delay(time.Second), func(r *zktest.Request) bool { return r.Op == zktest.OpCreate2 })
		t.Join(1, session.Join{Parent: "/queue", Name: "lock-"}, func(session.Joined) {})
		synctest.Wait()
		r := t.recover(w, 1)
		require.NoError(w, r.err)
		require.Len(w, r.standing, 2)
		require.Contains(w, r.standing, stands)
		require.ElementsMatch(w, r.standing, t.Leftovers())
		require.ElementsMatch(w, r.standing, w.ephemerals(id(s)))
		require.ErrorIs(w, t.recover(w, 2).err, session.ErrExpired)
	})
}

// A contender that another client deletes is out of the record as soon as its watch fires, so that
// nothing depends on trust any more.
func TestTheRecordFollowsDeletions(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, other := w.open(), w.open()
		t := w.client(s)
		synctest.Wait() // it is told of its epoch: who reads before that may miss what the watch says
		a := t.inQueue(w).Path
		b := t.inQueue(w).Path
		require.True(w, t.read(w, 1, a, true).Exists)
		require.NoError(w, other.Delete(w.ctx, a, -1))
		require.Contains(w, t.told(), "fired deleted "+a)
		require.Equal(w, []string{b}, t.Leftovers())
		require.NoError(w, other.Delete(w.ctx, b, -1))
		require.False(w, t.read(w, 1, b, false).Exists)
		require.Empty(w, t.Leftovers())
	})
}

// Where names come again, one that took the place of a deleted one takes its place in the record
// too.
func TestTheRecordDoesNotGrowWithWhatOthersDelete(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, t := w.openClient()
		for range 5 {
			require.NoError(w, t.join(w, 1, session.Join{Parent: "/", Name: "controller", Form: znode.Alone}).Err)
			require.Equal(w, 1, session.RecordLen(s))
			require.Equal(w, []string{"/controller"}, t.Leftovers())
			require.NoError(w, s.Delete(w.ctx, "/controller", -1))
		}
	})
}

// A deletion is confirmed, and the contender stands all the same: servers lose transactions. It is
// deleted again as soon as one of the same session that stands behind it reads it, or wants to hold
// it; once, and with one warning.
func TestAContenderThatStandsAgainIsDeletedAgain(t *testing.T) {
	each(t, map[string]func(w *harness, s *session.Session, t *client, path string){
		"read by who stands behind it": func(w *harness, s *session.Session, _ *client, path string) {
			for range 3 {
				behind := w.client(s)
				behind.inQueue(w)
				_, ok := behind.Follow(1, path)
				require.False(w, ok, "the record knows nothing of it, or that it goes")
				behind.Read(1, path, true, func(session.Seen) {})
			}
		},
		"taken for its own by who wants to hold it": func(w *harness, _ *session.Session, t *client, path string) {
			require.ErrorIs(w, errOf(t.Hold(1, path, 42, func(error) {})), session.ErrDeleted)
		},
	}, func(w *harness, meet func(w *harness, s *session.Session, t *client, path string)) {
		var log bubble.Log
		s, t := w.openClient(log.Option())
		path := t.inQueue(w).Path
		w.cutOnce(zktest.Fail(zktest.ErrNoNode), func(r *zktest.Request) bool { return r.Op == zktest.OpDelete })
		t.remove(w, 1, path)
		require.True(w, w.exists(s, path))
		meet(w, s, t, path)
		synctest.Wait()
		require.False(w, w.exists(s, path))
		require.Equal(w, 1, log.Count("stands again"))
		t.Leave()
		synctest.Wait()
		require.Equal(w, len(w.ephemerals(id(s))), session.RecordLen(s), "and the record is right")
	})
}

// unresolved loses the answer to the first request for which when is true, and for a minute its
// outcome can't be found out.
func (w *harness) unresolved(when func(r *zktest.Request) bool) {
	until := time.Now().Add(time.Minute)
	lost := false
	w.intercept(func(r *zktest.Request) zktest.Verdict {
		switch {
		case !lost && when(r):
			lost = true
			return zktest.CutAfter
		case lost && r.Op == zktest.OpMulti && time.Now().Before(until):
			return zktest.Fail(zktest.ErrSystem)
		}
		return zktest.Pass
	})
}

// What only looks like a contender that was deleted is left alone.
func TestWhatTheRecordDoesNotLackIsLeftAlone(t *testing.T) {
	each(t, map[string]func(w *harness, s *session.Session, t *client) (path string){
		"it stands": func(w *harness, s *session.Session, t *client) string {
			return w.client(s).inQueue(w).Path
		},
		"it is being created": func(w *harness, s *session.Session, _ *client) string {
			w.unresolved(creates)
			w.client(s).Join(1, session.Join{Parent: "/queue", Name: "lock-"}, func(session.Joined) {})
			time.Sleep(time.Second)
			return last(w.ephemerals(id(s)))
		},
		"a reader is being created in a writer's place": func(w *harness, s *session.Session, _ *client) string {
			path := "/queue/" + znode.Protect(znode.NewGUID(), "read-0000000000")
			w.unresolved(func(r *zktest.Request) bool { return r.Op == zktest.OpMulti })
			w.client(s).Commit(1, []session.Op{session.CreateOp(path, nil, session.Ephemeral())}, func([]session.Result, error) {})
			time.Sleep(time.Second)
			return path
		},
		"another session of the process owns it": func(w *harness, _ *session.Session, _ *client) string {
			return w.client(w.open()).join(w, 1, session.Join{Parent: "/queue", Name: "lock-"}).Path
		},
		"its name has no GUID": func(w *harness, s *session.Session, _ *client) string {
			return w.create(s, "/queue/lock-", nil, session.Ephemeral(), session.Sequential())
		},
		"it is the application's, elsewhere": func(w *harness, s *session.Session, _ *client) string {
			return w.create(s, "/lock-", nil, session.Ephemeral(), session.Sequential(), session.Protected())
		},
	}, func(w *harness, other func(w *harness, s *session.Session, t *client) (path string)) {
		s, t := w.openClient()
		t.inQueue(w)
		path := other(w, s, t)
		t.Read(1, path, true, func(session.Seen) {})
		w.pass(2 * time.Minute)
		require.True(w, w.exists(s, path))
	})
}
