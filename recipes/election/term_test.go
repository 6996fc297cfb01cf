package election_test

// The calls of a term: Proclaim, Ready and TransferTo, also past candidates of its own session; and
// all calls after the end.

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// Concurrent calls of Ready and Proclaim do not undo each other, in any order of their reads.
func TestConcurrentProclamationsAndReady(t *testing.T) {
	eachRow(t, map[string]int{"Ready reads first": 0, "in between": 5, "last": 9}, func(t *bubble.World, turn int) {
		s := t.Session()
		a := candidate(t, s, "a")
		term := leads(t, a)
		t.Cleanup(t.Server.Slow(s.Status().SessionID, 10*time.Millisecond)) // all have read before the first writes
		var writers []<-chan error
		for i := range 10 {
			writers = append(writers, bubble.Begin(func() error {
				if i == turn {
					return term.Ready(bubble.Minute(t))
				}
				return term.Proclaim(bubble.Minute(t), []byte(fmt.Sprint(i)))
			}))
			time.Sleep(time.Millisecond)
		}
		for _, w := range writers {
			require.NoError(t, bubble.Get(t, w, "the answer"))
		}
		l := must(a.Current(bubble.Minute(t)))
		require.True(t, l.Ready)
		require.Len(t, l.Data, 1)
	})
}

// A candidate's znode has its ID and data as JSON, and begins with the same data in each candidacy.
func TestEnvelope(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		a := candidate(t, t.Session(session.WithoutIdentity()), "a", election.WithData([]byte("here")))
		term := leads(t, a)
		require.JSONEq(t, `{"id":"a","data":"aGVyZQ==","ready":false}`, content(t, term.Path()))
		require.NoError(t, term.Proclaim(bubble.Minute(t), []byte("there")))
		require.NoError(t, term.Ready(bubble.Minute(t)))
		require.JSONEq(t, `{"id":"a","data":"dGhlcmU=","ready":true}`, content(t, term.Path()))
		require.NoError(t, term.Proclaim(bubble.Minute(t), nil))
		require.JSONEq(t, `{"id":"a","ready":true}`, content(t, term.Path()))
		require.NoError(t, term.Resign(bubble.Minute(t)))
		again := bubble.Get(t, a.Leader(), "a leads again")
		require.JSONEq(t, `{"id":"a","data":"aGVyZQ==","ready":false}`, content(t, again.Path()))
	})
}

// A candidate's znode names its owner, also after it was changed, and so does the error of a wait
// for the leader. Owners that others write are read only if they are valid.
func TestCandidatesSayWhoseTheyAre(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		elsewhere := must(actors.New()) // another process
		t.Cleanup(func() { _ = elsewhere.Close(bubble.Minute(t)) })
		term := leads(t, candidate(t, t.Session(session.WithIdentity("orders-7"), session.WithSystem(elsewhere)), "a"))
		require.NoError(t, term.Ready(bubble.Minute(t)))
		b := candidate(t, t.Session(), "b", election.WithUnreceivedWarning(0))
		owner := func() session.Identity { return must(b.Candidates(bubble.Minute(t)))[0].Owner }
		lead := func(d time.Duration) string {
			ctx, cancel := context.WithTimeout(bubble.Minute(t), d)
			defer cancel()
			_, err := b.Lead(ctx)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			return err.Error()
		}
		require.Equal(t, "orders-7", owner().Name)
		require.Equal(t, os.Getpid(), owner().PID)
		require.NotContains(t, lead(900*time.Millisecond), "held")
		require.Contains(t, lead(5*time.Second), ": held by "+owner().String()+", queued 5 s ago")
		for _, by := range []string{`5`, `null`, `{}`, `{"pid":-1}`, `{"name":"\u0007"}`, `{"name":5}`} {
			require.NoError(t, t.Server.Znodes(t).Set(term.Path(), []byte(`{"id":"a","by":`+by+`}`)))
			require.Zero(t, owner(), by)
			require.Regexp(t, `held by session 0x[0-9a-f]+, queued`, lead(5*time.Second))
		}
	})
}

// A request to release stays in the candidate's znode. Other data that others write there are taken
// for the ID, and replaced by the next Ready or Proclaim.
func TestDataOfOthers(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		a := candidate(t, t.Session(session.WithoutIdentity()), "a", election.WithData([]byte("here")))
		term := leads(t, a)
		require.NoError(t, t.Server.Znodes(t).Set(term.Path(), []byte("unlock\n"+content(t, term.Path()))))
		require.Equal(t, "a", must(a.Current(bubble.Minute(t))).Name)
		require.NoError(t, term.Ready(bubble.Minute(t)))
		require.True(t, strings.HasPrefix(content(t, term.Path()), "unlock\n{"))

		for _, raw := range []string{"", "null", "[]", `{"name":"x"}`, `{"id":5}`, `{"id":"x","data":5}`, "\xff\xfe", "unlock"} {
			require.NoError(t, t.Server.Znodes(t).Set(term.Path(), []byte(raw)))
			require.Equal(t, election.Leadership{Present: true, Name: raw, Token: term.Token()}, must(a.Current(bubble.Minute(t))))
		}
		require.NoError(t, term.Ready(bubble.Minute(t)))
		require.JSONEq(t, `{"id":"a","data":"aGVyZQ==","ready":true}`, content(t, term.Path()))
	})
}

// A transfer lists the candidates again if one in between has gone.
func TestTransferListsAgain(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		sb := t.Session()
		a, b, c, d := candidate(t, t.Session(), "a"), candidate(t, sb, "b"), candidate(t, t.Session(), "c"), candidate(t, t.Session(), "d")
		term := leads(t, a)
		waits(t, b, c, d)
		candidates := must(d.Candidates(bubble.Minute(t)))
		remove := t.Server.Intercept(func(q *zktest.Request) zktest.Verdict {
			if q.Op == zktest.OpMulti {
				t.Server.Expire(sb.Status().SessionID) // again and again: only the first time there is something to expire in between
			}
			return zktest.Pass
		})
		defer remove()
		require.NoError(t, term.TransferTo(bubble.Minute(t), candidates[3]))
		require.Greater(t, bubble.Get(t, d.Leader(), "d leads").Token(), term.Token())
	})
}

// After Close, or the end of the session, all calls say so at once.
func TestAfterTheEnd(t *testing.T) {
	eachRow(t, map[string]bool{"of the candidate": false, "of the session": true}, func(t *bubble.World, ofSession bool) {
		s := t.Session()
		a := candidate(t, s, "a")
		term := leads(t, a)
		seen := a.Observe(bubble.Minute(t))
		waiting := bubble.Begin(func() error { _, err := a.Lead(bubble.Minute(t)); return err })
		synctest.Wait()
		require.NoError(t, a.Err())
		if ofSession {
			require.NoError(t, s.Close(bubble.Minute(t)))
		} else {
			require.NoError(t, a.Close(bubble.Minute(t)))
		}
		bubble.Closes(t, term.Done(), "the term")
		bubble.Closes(t, a.Done(), "the candidate")
		require.ErrorIs(t, a.Err(), session.ErrClosed)
		require.ErrorIs(t, bubble.Get(t, waiting, "the wait"), session.ErrClosed)
		bubble.Closes(t, seen, "the observation")
		bubble.Closes(t, a.Observe(bubble.Minute(t)), "a new observation")
		bubble.Closes(t, a.ObserveStatus(bubble.Minute(t)), "the status")
		a.Campaign()
		_, err := a.Lead(bubble.Minute(t))
		require.ErrorIs(t, err, session.ErrClosed)
		require.ErrorIs(t, a.Run(bubble.Minute(t), idle), session.ErrClosed)
		require.NoError(t, a.Withdraw(bubble.Minute(t)))
		require.NoError(t, a.Close(bubble.Minute(t)), "it is idempotent")
		require.ErrorIs(t, term.Proclaim(bubble.Minute(t), nil), session.ErrLost)
		bubble.Never(t, a.Leader(), "no term")
	})
}

// queued has the first of three lead, and the others wait. last is the third.
func queued(t *bubble.World, a, b, c *election.Election) (term *election.Term, last election.Candidate) {
	t.Helper()
	term = leads(t, a)
	waits(t, b, c)
	return term, must(c.Candidates(bubble.Minute(t)))[2]
}

// A and B share a session, which tells B at once that A has resigned. The news that TransferTo has
// deleted B's znode waits behind an answer to another client, which is slow. B does not lead.
func TestATransferPassesACandidateOfTheSameSession(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		s := t.Session()
		a, b, c := candidate(t, s, "a"), candidate(t, s, "b"), candidate(t, t.Session(), "c")
		term, last := queued(t, a, b, c)
		letGo := occupy(t, s)
		require.NoError(t, term.TransferTo(bubble.Minute(t), last))
		next := bubble.Get(t, c.Leader(), "c leads")
		bubble.Never(t, b.Leader(), "b leads beside c")
		letGo()
		synctest.Wait()
		bubble.Never(t, b.Leader(), "b leads beside c")
		require.Equal(t, []string{"c", "a", "b"}, idsOf(t, c), "b has lost its place, and queues again")
		require.NoError(t, c.Withdraw(bubble.Minute(t)))
		require.Greater(t, bubble.Get(t, a.Leader(), "a is next").Token(), next.Token())
		require.NoError(t, a.Withdraw(bubble.Minute(t)))
		bubble.Get(t, b.Leader(), "that b was refused once is over")
	})
}

// occupy keeps a session from delivering events until letGo: it waits for a client that takes its
// time over an answer.
func occupy(t *bubble.World, s *session.Session) (letGo func()) {
	client := must(seam.NewClient(s, "slow", func(seam.Event) {}, nil))
	t.Cleanup(client.Leave)
	occupied := make(chan struct{})
	synctest.Wait() // who is next watches its own znode by then
	client.Read(s.Status().Epoch, path, true, func(seam.Seen) { <-occupied })
	synctest.Wait()
	return func() { close(occupied) }
}

// Nor does B lead while TransferTo's transaction is under way, if A resigns meanwhile, since its
// context has ended.
func TestATransferThatIsUnderWayPassesACandidateOfTheSameSession(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		s := t.Session()
		a, b, c := candidate(t, s, "a"), candidate(t, s, "b"), candidate(t, t.Session(), "c")
		term, last := queued(t, a, b, c)
		t.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpMulti && r.SessionID == s.Status().SessionID {
				return zktest.Delay(time.Second)
			}
			return zktest.Pass
		})
		ctx, cancel := context.WithTimeout(bubble.Minute(t), time.Millisecond)
		defer cancel()
		require.ErrorIs(t, term.TransferTo(ctx, last), context.DeadlineExceeded)
		resigned := bubble.Begin(func() error { return term.Resign(bubble.Minute(t)) })
		bubble.Never(t, b.Leader(), "b leads, though its znode is being deleted")
		require.NoError(t, bubble.Get(t, resigned))
		bubble.Get(t, c.Leader(), "c leads")
		bubble.Never(t, b.Leader(), "b leads beside c")
	})
}

// Break gives the leader the grace period to leave, and then deletes its znode.
func TestBreak(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		a, b, admin := candidate(t, t.Session(), "a"), candidate(t, t.Session(), "b"), candidate(t, t.Session(), "admin")
		first := leads(t, a)
		waits(t, b)
		leader := must(admin.Candidates(bubble.Minute(t)))[0]
		const grace = 3 * time.Second
		broken := bubble.Begin(func() error { return admin.Break(bubble.Minute(t), leader, grace) })
		time.Sleep(grace - time.Millisecond)
		bubble.Never(t, broken, "the leader has its grace")
		require.True(t, first.Valid())
		require.NoError(t, bubble.Get(t, broken))
		bubble.Closes(t, first.Done(), "the term")
		require.ErrorIs(t, first.Err(), session.ErrDeleted)
		second := bubble.Get(t, b.Leader(), "b leads")
		require.Equal(t, []string{"b", "a"}, idsOf(t, admin), "a queues again")
		require.NoError(t, admin.Break(bubble.Minute(t), leader, 0), "it is gone")

		leader = must(admin.Candidates(bubble.Minute(t)))[0]
		began := time.Now()
		broken = bubble.Begin(func() error { return admin.Break(bubble.Minute(t), leader, time.Hour) })
		time.Sleep(time.Second)
		require.NoError(t, second.Resign(bubble.Minute(t)))
		require.NoError(t, bubble.Get(t, broken), "it has left by itself")
		require.Less(t, time.Since(began), 2*time.Second)
		require.ErrorIs(t, second.Err(), session.ErrReleased)

		third := bubble.Get(t, a.Leader(), "a leads")
		ctx, cancel := context.WithTimeout(bubble.Minute(t), time.Second)
		defer cancel()
		require.ErrorIs(t, admin.Break(ctx, must(admin.Candidates(ctx))[0], time.Hour), context.DeadlineExceeded)
		require.NoError(t, third.Err())
	})
}

// A znode that was created later under the name of a candidate is another candidate's: it is not
// broken, and leadership is not transferred to it.
func TestAnotherCandidateUnderTheName(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		other := t.Session()
		a, b := candidate(t, t.Session(), "a"), candidate(t, other, "b")
		term := leads(t, a)
		waits(t, b)
		gone := must(a.Candidates(bubble.Minute(t)))[1]
		require.NoError(t, b.Withdraw(bubble.Minute(t)))
		must(other.Create(bubble.Minute(t), gone.Path, []byte("another"), session.Ephemeral()))
		require.NoError(t, a.Break(bubble.Minute(t), gone, 0))
		require.ErrorIs(t, term.TransferTo(bubble.Minute(t), gone), session.ErrNoNode)
		require.Equal(t, []string{"a", "another"}, idsOf(t, a))
		require.NoError(t, term.Err())
	})
}

// A candidate that was listed before its ACL forbade to read it is there: ErrNoAuth.
func TestATransferToOneThatMayNotBeRead(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		a, b := candidate(w, w.Session(), "a"), candidate(w, w.Session(), "b")
		term := leads(w, a)
		waits(w, b)
		before := must(a.Candidates(w.Context()))[1]
		must(w.Session().SetACL(w.Context(), before.Path, []session.ACL{{Perms: session.PermAll, Scheme: "digest", ID: "a:b"}}, -1))
		require.ErrorIs(w, term.TransferTo(w.Context(), before), session.ErrNoAuth)
		require.ErrorIs(w, term.TransferTo(w.Context(), must(a.Candidates(w.Context()))[1]), session.ErrNoAuth)
		require.ErrorIs(w, a.Break(w.Context(), election.Candidate{}, 0), session.ErrInvalidPath)
	})
}
