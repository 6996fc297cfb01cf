package main

// troupe election transfer: the one named leads, and those before it queue again.

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// four are candidates a to d, in order; a leads, and its term is returned.
func four(t *bubble.World) (*election.Term, *election.Election) {
	t.Helper()
	term, b := campaigning(t, "/e")
	for _, id := range []string{"c", "d"} {
		e := must(election.New(t.Session(), "/e", election.WithName(id)))
		e.Campaign()
		synctest.Wait()
	}
	return term, b
}

// order are the ids of the candidates.
func order(t *bubble.World, e *election.Election) (ids string) {
	t.Helper()
	synctest.Wait()
	all := must(e.Candidates(bubble.Minute(t)))
	for _, c := range all {
		ids += c.Name
	}
	return ids
}

func TestTransferMakesACandidateTheLeaderAndThoseBeforeItQueueAgain(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		term, b := four(t)
		out, code := typed("n\n").run(bubble.Minute(t), t, "election", "transfer", "/e", "c")
		require.Equal(t, 1, code)
		require.Regexp(t, `^transfer /e from a \(`+term.Path()+`, token \d+\), which may be at work still, to c \(.*\), deleting 2 candidates\? \[y/N\] troupe: nothing was changed\n$`, out)
		require.Equal(t, "abcd", order(t, b))
		golden(t, "transfer", []string{"election", "transfer", "/e", "c", "-y"})
		bubble.Within(t, time.Minute, term.Done(), "the leader is told")
		require.ErrorIs(t, term.Err(), session.ErrDeleted)
		require.Equal(t, "cdba", order(t, b), "those before it queue again")
		all := must(b.Candidates(bubble.Minute(t)))
		exits(t, 0, "election", "transfer", "/e", all[1].Path, "-y") // a candidate's path
		require.Equal(t, "d", order(t, b)[:1])
	})
}

func TestTransferRefusesWhatCannotBe(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		_, b := four(t)
		for to, want := range map[string]struct {
			says   string
			status int
		}{
			"no": {`/e has no candidate "no" (troupe election show lists them)`, 5}, "a": {"a leads /e already", 1},
		} {
			out, code := troupe(t, "election", "transfer", "/e", to, "-y")
			require.Equal(t, want.status, code, out)
			require.Contains(t, out, want.says)
		}
		require.Equal(t, "abcd", order(t, b))
	})
}

// The transaction notices changes since the listing.
func TestTransferTakesNoOtherLeadersLeadAway(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		gone, status int
		order        string // of those that are left
	}{
		{0, statusNo, "bcd"},      // the leader
		{1, 0, "cd"},              // one between, which was to go
		{2, statusMissing, "abd"}, // the one named
	} {
		bubble.Run(t, func(t *bubble.World) {
			_, b := four(t)
			all := must(b.Candidates(bubble.Minute(t)))
			deleted := false
			t.Server.Intercept(func(q *zktest.Request) zktest.Verdict {
				if q.Op == zktest.OpMulti && !deleted {
					deleted = true
					require.NoError(t, t.Server.Znodes(t).Delete(all[c.gone].Path))
				}
				return zktest.Pass
			})
			_, code := troupe(t, "election", "transfer", "/e", "c", "-y")
			require.Equal(t, c.status, code)
			require.True(t, deleted)
			require.Equal(t, c.order, order(t, b)[:len(c.order)])
		})
	}
}

func TestTransferWhoseReplyIsLostIsFoundAgain(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		_, b := four(t)
		lost := false
		t.Server.Intercept(func(q *zktest.Request) zktest.Verdict {
			if q.Op == zktest.OpMulti && !lost {
				lost = true
				return zktest.CutAfter
			}
			return zktest.Pass
		})
		exits(t, 0, "election", "transfer", "/e", "c", "-y")
		require.True(t, lost)
		require.Equal(t, "c", order(t, b)[:1])
	})
}

func TestTransferOnRealServers(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	zk := ensemble.Start(t, 3)
	s := bubble.Open(t, zk.Servers())
	var terms []<-chan *election.Term
	for _, id := range []string{"a", "b", "c"} {
		e := must(election.New(s, "/e", election.WithName(id)))
		e.Campaign()
		bubble.Await(t, e.ObserveStatus(bubble.Minute(t)), "queued", func(now election.Status) bool {
			return now.State == election.Leading || now.State == election.Waiting
		})
		terms = append(terms, e.Leader())
	}
	first := bubble.Get(t, terms[0])
	var out strings.Builder
	a := &app{in: strings.NewReader(""), out: &printer{Writer: &out}, log: &out, release: func() {}}
	cmd := root(a)
	cmd.SetArgs([]string{"election", "transfer", "/e", "c", "-y", "--servers", strings.Join(zk.Servers(), ",")})
	require.Zero(t, a.execute(bubble.Minute(t), cmd), &out)
	second := bubble.Get(t, terms[2])
	require.Greater(t, second.Token(), first.Token())
	<-first.Done()
	require.ErrorIs(t, first.Err(), session.ErrDeleted)
}
