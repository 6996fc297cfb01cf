package election_test

// The helpers of this package's tests.

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestMain(m *testing.M) { tier.Main(m) }

const path = "/services/billing/leader"

// inBubble runs a test in virtual time, beside others.
func inBubble(t *testing.T, test func(t *bubble.World), opts ...zktest.Option) {
	t.Helper()
	t.Parallel()
	bubble.Run(t, test, opts...)
}

// eachRow is inBubble for each row of a table.
func eachRow[R any](t *testing.T, rows map[string]R, test func(t *bubble.World, row R), opts ...zktest.Option) {
	t.Helper()
	t.Parallel()
	bubble.EachRow(t, rows, test, opts...)
}

// must is for a call in the test's own goroutine that has to succeed.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func candidate(t testing.TB, s *session.Session, id string, opts ...election.Option) *election.Election {
	t.Helper()
	e := must(election.New(s, path, append([]election.Option{election.WithName(id)}, opts...)...))
	t.Cleanup(func() { _ = e.Close(bubble.Minute(t)) })
	return e
}

// waits lets candidates campaign, one after the other, until each waits behind another.
func waits(t testing.TB, all ...*election.Election) {
	t.Helper()
	for _, e := range all {
		e.Campaign()
		reaches(t, e, election.Waiting)
	}
}

// reaches waits until a candidate is in a state.
func reaches(t testing.TB, e *election.Election, state election.State) {
	t.Helper()
	bubble.Await(t, e.ObserveStatus(bubble.Minute(t)), "status", func(s election.Status) bool { return s.State == state })
}

// sees receives leaderships until one has a token.
func sees(t testing.TB, seen <-chan election.Leadership, token int64) election.Leadership {
	t.Helper()
	return bubble.Await(t, seen, "leadership", func(l election.Leadership) bool { return l.Token == token })
}

// leads lets a candidate campaign until it leads.
func leads(t testing.TB, e *election.Election) *election.Term {
	t.Helper()
	e.Campaign()
	return bubble.Get(t, e.Leader(), "leader")
}

// content is the data of a znode.
func content(t *bubble.World, path string) string {
	t.Helper()
	return string(must(t.Server.Znodes(t).Get(path)))
}

// firstOf waits until one of two candidates leads.
func firstOf(t testing.TB, a, b *election.Election) *election.Term {
	t.Helper()
	select {
	case term := <-a.Leader():
		return term
	case term := <-b.Leader():
		return term
	case <-time.After(time.Minute):
		t.Fatal("neither leads")
		return nil
	}
}

// idsOf are the IDs of the candidates in order.
func idsOf(t testing.TB, e *election.Election) []string {
	t.Helper()
	candidates, err := e.Candidates(bubble.Minute(t))
	require.NoError(t, err)
	ids := make([]string, len(candidates))
	for i, c := range candidates {
		ids[i] = c.Name
	}
	return ids
}
