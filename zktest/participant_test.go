package zktest_test

// Sessions of others, without a client.

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/zktest"
)

func TestAParticipantHasEphemeralsUntilItEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(s *zktest.Server, p *zktest.Participant){
		"it leaves":         func(_ *zktest.Server, p *zktest.Participant) { p.Leave() },
		"it expires":        func(s *zktest.Server, p *zktest.Participant) { s.Expire(p.SessionID()) },
		"sessions are lost": func(s *zktest.Server, _ *zktest.Participant) { s.LoseSessions() },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *zktest.Server) {
				z, p := s.Znodes(t), s.Join()
				require.NoError(t, p.Create("/members/other", []byte("host")))
				first, err := p.CreateSequential("/line/x-", nil)
				require.NoError(t, err)
				require.Equal(t, "/line/x-0000000000", first)
				stat, err := z.Stat(first)
				require.NoError(t, err)
				require.Equal(t, p.SessionID(), stat.EphemeralOwner)
				require.ErrorIs(t, p.Create("/members/other", nil), zktest.ErrNodeExists)
				require.ErrorIs(t, p.Create("/c", nil, zktest.Container()), zktest.ErrBadArguments)

				time.Sleep(time.Hour)
				info, ok := s.Session(p.SessionID())
				require.True(t, ok, "it does not expire by itself")
				require.Equal(t, zktest.Session{ID: p.SessionID(), Front: -1, Ephemeral: []string{"/members/other", first}}, info)

				c := client(t, s, 10*time.Second)
				require.NotEqual(t, c.session, p.SessionID())
				c.must(t, jute.Request{Op: jute.OpExists, Path: first, Watch: true})
				end(s, p)
				z.CheckChildren("/line")
				z.CheckAbsent("/members/other")
				if events, err := c.drain(); name != "sessions are lost" {
					require.NoError(t, err)
					require.Equal(t, []jute.Event{{Type: jute.NodeDeleted, State: jute.StateConnected, Path: first}}, events)
				}
				require.ErrorIs(t, p.Create("/members/other", nil), zktest.ErrSessionExpired)
				p.Leave() // again, which does nothing
			})
		})
	}
}

func TestAClosedServerIsNotJoined(t *testing.T) {
	t.Parallel()
	var r recorder
	r.run(func() {
		s := zktest.Start(&r)
		require.NoError(t, s.Close())
		s.Join()
	})
	require.Contains(t, r.failed, "zktest: Join: ")
}
