package election_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

const path = "/services/billing/leader"

// cluster is ZooKeeper, embedded or real, as a test of the suite sees it.
type cluster struct {
	open func(t *testing.T, opts ...session.Option) *session.Session
	root string // below which the test has everything to itself
}

func (c cluster) session(t *testing.T, opts ...session.Option) *session.Session {
	t.Helper()
	s := c.open(t, append([]session.Option{session.WithNamespace(c.root)}, opts...)...)
	connect(t, s)
	return s
}

func (c cluster) candidate(t *testing.T, id string) *election.Election {
	t.Helper()
	return candidate(t, c.session(t), id)
}

// bubble runs a test on an embedded server in virtual time.
func bubble(t *testing.T, f func(t *testing.T, z *zktest.Server), opts ...zktest.Option) {
	t.Helper()
	t.Parallel()
	bubbleHere(t, f, opts...)
}

// bubbleHere is bubble for a test whose order among others matters.
func bubbleHere(t *testing.T, f func(t *testing.T, z *zktest.Server), opts ...zktest.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, zktest.Start(t, opts...)) })
}

// open makes a session that is closed at the end of the test, and not connected yet.
func open(t *testing.T, z *zktest.Server, opts ...session.Option) *session.Session {
	t.Helper()
	s, err := session.New(z.Hosts(), append([]session.Option{session.WithDialer(z.Dialer())}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close(patience(t)) }) // after a fault it may not be able to say goodbye
	return s
}

func connect(t *testing.T, s *session.Session) {
	t.Helper()
	require.NoError(t, s.Connect(patience(t)))
}

func connected(t *testing.T, z *zktest.Server, opts ...session.Option) *session.Session {
	t.Helper()
	s := open(t, z, opts...)
	connect(t, s)
	return s
}

func candidate(t *testing.T, s *session.Session, id string, opts ...election.Option) *election.Election {
	t.Helper()
	e, err := election.New(s, path, append([]election.Option{election.WithID(id)}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = e.Close(patience(t)) })
	return e
}

// patience is a context for what should take no time at all. It outlives the test, for cleaning up.
func patience(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// get receives, within patience.
func get[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v, open := <-c:
		if !open {
			t.Fatalf("%s: the channel has closed", what)
		}
		return v
	case <-time.After(time.Minute):
		t.Fatalf("%s: nothing came", what)
	}
	return *new(T)
}

// await receives until a value satisfies, and returns it.
func await[T any](t *testing.T, c <-chan T, what string, ok func(T) bool) T {
	t.Helper()
	for {
		if v := get(t, c, what); ok(v) {
			return v
		}
	}
}

// closes waits for a channel to close.
func closes[T any](t *testing.T, c <-chan T, what string) {
	t.Helper()
	limit := time.After(time.Minute)
	for {
		select {
		case _, open := <-c:
			if !open {
				return
			}
		case <-limit:
			t.Fatalf("%s: it has not closed", what)
		}
	}
}

// nothing asserts that a channel has nothing to receive once all has come to rest. In a bubble
// only.
func nothing[T any](t *testing.T, c <-chan T, what string) {
	t.Helper()
	synctest.Wait()
	select {
	case v := <-c:
		t.Fatalf("%s: got %+v", what, v)
	default:
	}
}

// waits lets a candidate campaign until it is in line behind somebody.
func waits(t *testing.T, e *election.Election) {
	t.Helper()
	e.Campaign()
	ctx, cancel := context.WithCancel(patience(t))
	defer cancel()
	await(t, e.Standing(ctx), "standing", func(s election.Standing) bool { return s.Phase == election.Waiting })
}

// leads lets a candidate campaign until it leads.
func leads(t *testing.T, e *election.Election) *election.Term {
	t.Helper()
	e.Campaign()
	return get(t, e.Leader(), "leader")
}

// line names the candidates in order.
func line(t *testing.T, e *election.Election) []string {
	t.Helper()
	candidates, err := e.Candidates(patience(t))
	require.NoError(t, err)
	ids := make([]string, len(candidates))
	for i, c := range candidates {
		ids[i] = c.ID
	}
	return ids
}

// eventually looks again and again until a condition holds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); !ok(); {
		if time.Now().After(limit) {
			t.Fatalf("%s: it never happened", what)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// merge receives from either of two elections.
func merge(t *testing.T, a, b <-chan *election.Term) <-chan *election.Term {
	either := make(chan *election.Term, 1)
	ctx := patience(t)
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
