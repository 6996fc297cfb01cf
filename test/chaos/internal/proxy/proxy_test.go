package proxy_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/test/chaos/internal/proxy"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// behind is a session on a real server, through a proxy.
func behind(t *testing.T) (*proxy.Proxy, *session.Session, string) {
	servers := ensemble.Start(t, 1)
	p, err := proxy.New(servers.Servers()[0])
	require.NoError(t, err)
	t.Cleanup(p.Close)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := session.Open(ctx, []string{p.Addr()}, session.WithTimeout(3*time.Second))
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close(context.Background()) }) // bounded by the session's timeout
	return p, s, servers.Servers()[0]
}

func TestALostReplyBreaksTheConnectionAndTheRequestWasCarriedOut(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	p, s, _ := behind(t)
	path, err := "", error(nil)
	for i := 0; !errors.Is(err, session.ErrUnknownOutcome) && i < 20; i++ { // the reply that is lost may be one that the session had asked for by itself
		path = fmt.Sprintf("/x%d", i)
		p.Lose()
		_, err = s.Create(t.Context(), path, nil)
	}
	require.ErrorIs(t, err, session.ErrUnknownOutcome)
	_, exists, err := s.Exists(t.Context(), path)
	require.NoError(t, err)
	require.True(t, exists)
}

func TestTroublesHoldUpAndHeal(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	for name, trouble := range map[string]func(p *proxy.Proxy){
		"nothing":   func(*proxy.Proxy) {},
		"trickle":   (*proxy.Proxy).Trickle,
		"delay":     func(p *proxy.Proxy) { p.Delay(20 * time.Millisecond) },
		"reset":     (*proxy.Proxy).Reset,
		"cut":       (*proxy.Proxy).Cut,
		"blackhole": func(p *proxy.Proxy) { p.Blackhole(proxy.ToServer, proxy.ToClient) },
		"one way":   func(p *proxy.Proxy) { p.Blackhole(proxy.ToClient) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, s, _ := behind(t)
			trouble(p)
			short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			_, _, err := s.Exists(short, "/")
			cancel()
			if name == "cut" || name == "blackhole" || name == "one way" {
				require.ErrorIs(t, err, context.DeadlineExceeded)
			}
			p.Heal()
			_, exists, err := s.Exists(t.Context(), "/")
			require.NoError(t, err)
			require.True(t, exists)
		})
	}
}

func TestARivalEndsASession(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	p, s, server := behind(t)
	first := s.Status()
	require.Equal(t, first.SessionID, p.Session().ID)
	require.NoError(t, proxy.Expire(server, p.Session(), 5*time.Second))
	require.ErrorIs(t, proxy.Expire(server, p.Session(), 5*time.Second), proxy.ErrGone)
	for status := range s.Observe(t.Context()) {
		if status.State == session.Connected && status.Epoch > first.Epoch {
			return
		}
	}
	t.Fatal("the session has ended")
}
