package actors_test

// What the tests have in common: an actor that does what it is told.

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/actors"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// say is a message: what the parrot is to do.
type say func(p *parrot)

// parrot does what it is told.
type parrot struct {
	self actors.Self[say]
	said []string
	stop func(error)
}

func (p *parrot) Receive(m say) { m(p) }
func (p *parrot) Phase() string { return "said " + strconv.Itoa(len(p.said)) }

func (p *parrot) Stopping(cause error) {
	if p.stop != nil {
		p.stop(cause)
	}
}

// polly describes a parrot; stop may be nil.
func polly(stop func(error)) actors.Spec[say] {
	return actors.Spec[say]{Name: "polly", Kind: "parrot", New: func(self actors.Self[say]) actors.Receiver[say] {
		return &parrot{self: self, stop: stop}
	}}
}

func spawn(t *testing.T, in actors.Scope, spec actors.Spec[say]) actors.Ref[say] {
	t.Helper()
	ref, err := actors.Spawn(in, spec)
	require.NoError(t, err)
	return ref
}

// ask has the actor call f, and waits for what it returns.
func ask[A any](t *testing.T, ref actors.Ref[say], f func(p *parrot) A) A {
	t.Helper()
	answer := make(chan A, 1)
	require.True(t, ref.Tell(func(p *parrot) { answer <- f(p) }))
	select {
	case a := <-answer:
		return a
	case <-ref.Done():
		require.Fail(t, "the actor has ended")
		panic("unreachable")
	}
}

func incarnation(p *parrot) int { return p.self.Incarnation() }

func scope(p *parrot) actors.Scope { return p.self.Scope() }

// fewRestarts makes pauses of 0.5–1 s, 1–2 s, 2–4 s, and then no more.
var fewRestarts = actors.WithRestarts(actors.Restarts{Min: time.Second, Max: 4 * time.Second, Limit: 3, Within: time.Hour})

func closeSystem(t *testing.T, sys *actors.System) {
	t.Helper()
	require.NoError(t, sys.Close(t.Context()))
}
