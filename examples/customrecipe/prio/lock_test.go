package prio //nolint:testpackage // the machine and its phases are unexported

// The lock on an embedded server, in virtual time.

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
	"github.com/troupe-go/troupe/zktest/zksession"
)

// fragile is a machine that panics over a bug.
type fragile struct{ machine.Machine }

type bug struct{}

func (f fragile) Step(ev machine.Event) []machine.Effect {
	if _, is := ev.(bug); is {
		panic("on purpose")
	}
	return f.Machine.Step(ev)
}

func TestTheBetterPriorityGoesFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.Start(t)
		one, two := zksession.Open(t, srv), zksession.Open(t, srv)
		first, err := Acquire(t.Context(), one, "/l", 500)
		require.NoError(t, err)

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = Acquire(ctx, two, "/l", 900)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		synctest.Wait()
		names, _, err := one.Children(t.Context(), "/l")
		require.NoError(t, err)
		require.Len(t, names, 1, "whoever gives up leaves nothing")
		grants := make(chan *Grant, 2)
		for _, priority := range []int{900, 10} {
			go func() { // ends with the grant
				g, err := Acquire(t.Context(), two, "/l", priority)
				if err != nil {
					t.Error(err)
				}
				grants <- g
			}()
			synctest.Wait()
		}
		require.True(t, first.Valid(), "nobody takes it from its holder")
		require.NoError(t, first.Release(t.Context()))
		better := <-grants
		require.Contains(t, better.Path(), "-010-")
		require.Greater(t, better.Token(), first.Token())
		require.NoError(t, better.Release(t.Context()))
		require.Greater(t, (<-grants).Token(), better.Token())
	})
}

func TestAPossessionEndsWithItsSessionAndItsMachine(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		end  func(srv *zktest.Server, s *session.Session, g *Grant)
		want error
	}{
		"session": {func(srv *zktest.Server, s *session.Session, _ *Grant) { srv.Expire(s.Status().SessionID) }, session.ErrLost},
		"machine": {func(_ *zktest.Server, _ *session.Session, g *Grant) { g.host.Tell(bug{}) }, session.ErrRestarted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				srv := zktest.Start(t)
				s := zksession.Open(t, srv)
				g, err := acquire(t.Context(), s, "/l", func() machine.Machine { return fragile{newMachine("/l", 10, "id")} })
				require.NoError(t, err)
				tc.end(srv, s, g)
				<-g.Done()
				require.ErrorIs(t, g.Err(), tc.want)
				<-g.host.Done() // without a release
				next, err := Acquire(t.Context(), s, "/l", 10)
				require.NoError(t, err)
				require.NoError(t, g.Release(t.Context()), "of one that is over there is nothing to release")
				require.NoError(t, next.Release(t.Context()))
			})
		})
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := zksession.Open(t, zktest.Start(t))
		for argument, err := range map[string]error{
			"s: nil session": failure(Acquire(t.Context(), nil, "/l", 1)), "path": failure(Acquire(t.Context(), s, "l", 1)),
			"priority": failure(Acquire(t.Context(), s, "/l", 1000)),
		} {
			require.ErrorContains(t, err, argument)
		}
	})
	require.Equal(t, []string{"005-a.1-0000000003", "010-b.1-0000000002", "010-a.1-0000000004"},
		sorted([]string{"010-a.1-0000000004", "x", "a-b-c", "", "010-b.1-0000000002", "005-a.1-0000000003"}))
}

func failure(_ *Grant, err error) error { return err }
