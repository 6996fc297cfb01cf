package election_test

// Candidates as these tests need them.

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
)

func TestMain(m *testing.M) { tier.Main(m) }

const path = "/services/billing/leader"

func candidate(t testing.TB, s *session.Session, id string, opts ...election.Option) *election.Election {
	t.Helper()
	e, err := election.New(s, path, append([]election.Option{election.WithID(id)}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = e.Close(bubble.Minute(t)) })
	return e
}

// waits lets a candidate campaign until it is in line behind somebody.
func waits(t testing.TB, e *election.Election) {
	t.Helper()
	e.Campaign()
	ctx, cancel := context.WithCancel(bubble.Minute(t))
	defer cancel()
	bubble.Await(t, e.Standing(ctx), "standing", func(s election.Standing) bool { return s.Phase == election.Waiting })
}

// leads lets a candidate campaign until it leads.
func leads(t testing.TB, e *election.Election) *election.Term {
	t.Helper()
	e.Campaign()
	return bubble.Get(t, e.Leader(), "leader")
}

// line names the candidates in order.
func line(t testing.TB, e *election.Election) []string {
	t.Helper()
	candidates, err := e.Candidates(bubble.Minute(t))
	require.NoError(t, err)
	ids := make([]string, len(candidates))
	for i, c := range candidates {
		ids[i] = c.ID
	}
	return ids
}

// eventually looks again and again until a condition holds.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); !ok(); {
		if time.Now().After(limit) {
			t.Fatalf("%s: it never happened", what)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// merge receives from either of two elections.
func merge(t testing.TB, a, b <-chan *election.Term) <-chan *election.Term {
	either := make(chan *election.Term, 1)
	ctx := bubble.Minute(t)
	go func() { // owned by the test: ends with what it waits for, or with its patience
		select {
		case term := <-a:
			either <- term
		case term := <-b:
			either <- term
		case <-ctx.Done():
		}
	}()
	return either
}
