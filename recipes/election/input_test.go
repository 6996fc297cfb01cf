package election_test

// What each layout writes, and what is logged of a term that nobody
// receives.

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
)

// written is what a candidate's znode is called, by layout.
var written = map[election.Layout]string{
	election.Troupe:                `/_c_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-n_\d{10}$`,
	election.Curator:               `/_c_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-latch-\d{10}$`,
	election.Kazoo:                 `/[0-9a-f]{32}__lock__\d{10}$`,
	election.LeaderElectionSupport: `/n_\d{10}$`,
}

// foreign are the layouts of others.
var foreign = []election.Layout{election.Curator, election.Kazoo, election.LeaderElectionSupport}

func TestWhatALayoutWrites(t *testing.T) {
	t.Parallel()
	for layout, pattern := range written {
		t.Run(layout.String(), func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(t *bubble.World) {
				s := t.Session()
				e := candidate(t, s, "host-1", election.WithLayout(layout))
				term := leads(t, e)
				require.Regexp(t, "^"+path+pattern, term.Path())
				data, _, err := s.Get(bubble.Minute(t), term.Path())
				require.NoError(t, err)
				if layout != election.Troupe {
					require.Equal(t, "host-1", string(data), "the ID, for others to read")
				}
				leader, err := candidate(t, t.Session(), "observer").Current(bubble.Minute(t))
				require.NoError(t, err)
				require.Equal(t, election.Leadership{Present: true, ID: "host-1", Token: term.Token()}, leader)
				leader, err = e.Current(bubble.Minute(t))
				require.NoError(t, err)
				require.True(t, leader.Self)
				require.NoError(t, e.Resign(bubble.Minute(t)))
				require.Empty(t, line(t, e))
			})
		})
	}
}

func TestWhatALayoutHasNoRoomFor(t *testing.T) {
	t.Parallel()
	for _, layout := range foreign {
		t.Run(layout.String(), func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(t *bubble.World) {
				s := t.Session()
				a, b := candidate(t, s, "a", election.WithLayout(layout)), candidate(t, s, "b", election.WithLayout(layout))
				term := leads(t, a)
				waits(t, b)
				candidates, err := b.Candidates(bubble.Minute(t))
				require.NoError(t, err)
				before := t.Server.Dump()
				require.ErrorIs(t, term.Ready(bubble.Minute(t)), session.ErrUnsupported)
				require.ErrorIs(t, term.Proclaim(bubble.Minute(t), []byte("x")), session.ErrUnsupported)
				require.ErrorIs(t, term.TransferTo(bubble.Minute(t), candidates[1].Path), session.ErrUnsupported)
				require.Equal(t, before, t.Server.Dump(), "nothing was changed")
				require.NoError(t, term.Err())
			})
		})
	}
}

// A term that nobody receives is logged if others wait for it, with the place where Campaign was
// called; one that lasts is not.
func TestATermThatNobodyReceivesIsLogged(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		log := new(bubble.Log)
		e := candidate(t, t.Session(log.Option()), "a", election.WithWarnAfter(time.Minute))
		term, err := e.Lead(bubble.Minute(t))
		require.NoError(t, err)
		time.Sleep(time.Hour)
		require.NoError(t, term.Resign(bubble.Minute(t)))
		synctest.Wait()
		require.Empty(t, log.Warnings(path))
		at := bubble.After(1)
		e.Campaign()
		time.Sleep(2 * time.Minute)
		require.Empty(t, log.Warnings(path), "nobody waits for it")
		candidate(t, t.Session(), "b").Campaign()
		time.Sleep(9 * time.Minute)
		require.Len(t, log.Warnings(path), 1)
		require.Contains(t, log.Warnings(path)[0], "not received, and others wait")
		require.Contains(t, log.Warnings(path)[0], "waiting=1")
		require.Contains(t, log.Warnings(path)[0], at)
		bubble.Get(t, e.Leader(), "the term")
	})
}
