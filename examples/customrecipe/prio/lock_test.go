package prio //nolint:testpackage // the machine and its phases are looked at from inside

// The lock on an embedded server.

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func open(t *testing.T, srv *zktest.Server) *session.Session {
	t.Helper()
	s, err := session.Open(t.Context(), srv.Hosts(), session.WithDialer(srv.Dialer()))
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = s.Close(ctx) // some tests have closed it
	})
	return s
}

// fragile is a machine that panics over a bug.
type fragile struct{ machine.Machine }

type bug struct{}

func (f fragile) Step(ev machine.Event) []machine.Effect {
	if _, is := ev.(bug); is {
		panic("on purpose")
	}
	return f.Machine.Step(ev)
}

func side(t *testing.T, s *session.Session, m Mode, priority int) *Lock {
	t.Helper()
	l, err := New(s, "/l", m, priority)
	require.NoError(t, err)
	return l
}

func TestWholeStack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.Start(t)
		one, two := open(t, srv), open(t, srv)
		first, err := side(t, one, Read, 500).Lock(t.Context())
		require.NoError(t, err)
		second, err := side(t, two, Read, 500).Lock(t.Context())
		require.NoError(t, err, "readers together")

		writer, err := start(two, "/l", func() machine.Machine { return fragile{newMachine("/l", Write, 10)} })
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = writer.Lock(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		<-first.Revoked()
		<-second.Revoked()
		synctest.Wait()
		names, _, err := one.Children(t.Context(), "/l/line")
		require.NoError(t, err)
		require.Len(t, names, 2, "whoever gives up leaves nothing")

		srv.Expire(one.Status().SessionID)
		<-first.Done()
		require.ErrorIs(t, first.Err(), session.ErrLost)
		require.NoError(t, second.Release(t.Context()))
		grant, err := writer.Lock(t.Context())
		require.NoError(t, err)
		require.Greater(t, grant.Token(), second.Token())
		require.True(t, writer.host.Tell(bug{}))
		<-grant.Done()
		require.ErrorIs(t, grant.Err(), session.ErrRestarted)
		again, err := writer.Lock(t.Context())
		require.NoError(t, err, "a lost grant need not be released")
		require.NoError(t, again.Release(t.Context()))
		require.NoError(t, writer.Close(t.Context()))
		_, err = writer.Lock(t.Context())
		require.ErrorIs(t, err, session.ErrClosed)
	})
}

// A session can end between the grant and its possession, and the machine hear of that first:
// nothing is left of the claim, and the caller still waits.
func TestAGrantThatComesTooLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := side(t, open(t, zktest.Start(t)), Write, 10)
		l.turn <- struct{}{}
		c, asked := l.enter()
		l.perform(granted{Epoch: 0, Claim: asked.Claim, Path: "/l/line/x", Token: 1}) // of a session that is over
		require.Empty(t, c.answer)
		l.perform(gone{asked.Claim})
		select {
		case err := <-c.answer:
			require.NoError(t, err)
		case <-time.After(time.Minute):
			require.Fail(t, "nobody asks for it any more")
		}
		require.True(t, c.grant.Valid())
		require.NoError(t, c.grant.Release(t.Context()))
		next, err := l.Lock(t.Context())
		require.NoError(t, err)
		require.NoError(t, next.Release(t.Context()))
	})
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, zktest.Start(t))
		for argument, err := range map[string]error{
			"s is nil": failure(New(nil, "/l", Read, 1)), "path": failure(New(s, "l", Read, 1)), "mode": failure(New(s, "/l", 7, 1)),
			"priority": failure(New(s, "/l", Read, 1000)),
		} {
			require.ErrorContains(t, err, argument)
		}
	})
}

func failure(_ *Lock, err error) error { return err }

func TestForeignNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "x", "a-w-1-1", "a-x-001-1", "a-w-001-x", "a-w-00x-1", "a-b-w-001-1", "a-w--01-1"} {
		_, ok := parse(name)
		require.False(t, ok, name)
	}
	c, ok := parse("id.1-r-017-0000000042")
	require.True(t, ok)
	require.Equal(t, contender{name: "id.1-r-017-0000000042", mode: Read, priority: 17, number: 42}, c)
}
