package main

// troupe election: who leads, who waits, and what deposes a leader.

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
)

// campaigning are a leader, whose term it is, and a candidate at a path.
func campaigning(t *bubble.World, path string) (term *election.Term, second *election.Election) {
	t.Helper()
	s := t.Session(session.WithoutIdentity())
	first, err := election.New(s, path, election.WithName("a"), election.WithData([]byte("http://a")))
	require.NoError(t, err)
	first.Campaign()
	term = bubble.Get(t, first.Leader())
	require.NoError(t, term.Ready(bubble.Minute(t)))
	second = must(election.New(s, path, election.WithName("b")))
	second.Campaign()
	synctest.Wait()
	return term, second
}

func TestElectionWatchFollowsTheLeader(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		term, _ := campaigning(t, "/a")
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, func() { _ = term.Resign(t.Context()) })
		time.AfterFunc(2*time.Minute, cancel)
		out, code := typed("").run(ctx, t, "election", "watch", "/a")
		same(t, "election-watch", transcript(out, code, "election", "watch", "/a"))
	})
}

func TestElectionShowListsCandidatesAndBreakDeposesTheLeader(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		term, second := campaigning(t, "/elections/a")
		golden(t, "election-show", each("election show /elections/a\nelection show /elections/a -o json")...)
		_, code := typed("yes\n").run(bubble.Minute(t), t, "election", "break", "/elections/a")
		require.Zero(t, code)
		bubble.Within(t, time.Minute, term.Done(), "the leader is told")
		require.ErrorIs(t, term.Err(), session.ErrDeleted)
		next := bubble.Get(t, second.Leader())
		golden(t, "election-break", []string{"election", "break", next.Path(), "-y"}) // a candidate's path
		synctest.Wait()
		require.ErrorIs(t, next.Err(), session.ErrDeleted)
	})
}
