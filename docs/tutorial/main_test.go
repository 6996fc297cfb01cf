package main

// The tutorial's service, and the test that its page ends with.

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestMain(m *testing.M) { tier.Main(m) }

// start runs the service; stop ends it as an interrupt does.
func start(t *testing.T, srv *zktest.Server, name, listen string) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- run(ctx, slog.New(slog.DiscardHandler), srv.Servers(), name, listen) }()
	return func() error {
		cancel()
		return <-done
	}
}

// until reads a status page until it says something.
func until(t *testing.T, addr, says string) {
	t.Helper()
	require.Eventually(t, func() bool {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr, nil)
		require.NoError(t, err)
		req.Close = true
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			return false // it is not listening yet
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		return err == nil && strings.Contains(string(text), says)
	}, time.Minute, 20*time.Millisecond, says)
}

func address(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// TestTheTutorial runs two processes. One leads; when it stops, the other one leads.
func TestTheTutorial(t *testing.T) {
	t.Parallel()
	srv := zktest.Start(t)
	first, second := address(t), address(t)
	stopOne := start(t, srv, "one", first)
	until(t, first, "leader: one")
	stopTwo := start(t, srv, "two", second)
	until(t, second, "leader: one")
	until(t, second, "at work: true")
	require.NoError(t, stopOne())
	until(t, second, "leader: two")
	require.NoError(t, stopTwo())
	require.Empty(t, srv.Sessions(), "a process that stops leaves no session behind")
}

func TestTheServiceReportsThatItHasNoServers(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, run(t.Context(), slog.New(slog.DiscardHandler), nil, "one", address(t)), "servers")
}

// A term that ends before its first report is not a failure of the service.
func TestATermThatEndsAtOnceFailsNobody(t *testing.T) {
	t.Parallel()
	srv := zktest.Start(t)
	sess, err := session.Open(t.Context(), srv.Servers())
	require.NoError(t, err)
	defer sess.Close(t.Context())
	leader, err := election.New(sess, "/reports/leader")
	require.NoError(t, err)
	term, err := leader.Lead(t.Context())
	require.NoError(t, err)
	require.NoError(t, term.Resign(t.Context()))
	require.NoError(t, write(term.Context(), sess, term, "one"))
}

// The test that the page ends with.

func TestTheLeaderStopsBeforeAnotherCanLead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := zktest.Start(t)
		sess, err := session.Open(t.Context(), server.Hosts(), session.WithDialer(server.Dialer()))
		require.NoError(t, err)
		defer sess.Close(t.Context())
		leader, err := election.New(sess, "/reports/leader")
		require.NoError(t, err)
		term, err := leader.Lead(t.Context())
		require.NoError(t, err)

		defer server.Partition(sess.Status().SessionID)() // the network fails, silently
		onServer, _ := server.Session(sess.Status().SessionID)
		<-term.Done()
		require.True(t, time.Now().Before(onServer.Expires))
	})
}
