package election_test

import (
	"fmt"
	"testing"

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
				_, err := election.New(s, path, election.WithLayout(layout), election.WithData([]byte("x")))
				require.ErrorIs(t, err, session.ErrUnsupported)
				require.ErrorContains(t, err, "WithData")
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

func TestUnknownLayoutsAreRefused(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		for _, l := range []election.Layout{-1, 4, 1000} {
			_, err := election.New(s, path, election.WithLayout(l))
			require.ErrorContains(t, err, "WithLayout: unknown layout")
			require.Equal(t, fmt.Sprintf("Layout(%d)", int(l)), l.String())
		}
	})
}

// Candidates of all layouts stand in one line, in order, one leader at a time.
func TestLayoutsInOneLine(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		var all []*election.Election
		var ids []string
		for i, layout := range append(foreign, append(foreign, election.Troupe)...) {
			e := candidate(t, s, fmt.Sprint(i), election.WithLayout(layout))
			all, ids = append(all, e), append(ids, fmt.Sprint(i))
			e.Campaign()
			eventually(t, "in line", func() bool { return len(line(t, all[0])) == i+1 })
		}
		require.Equal(t, ids, line(t, all[0]))
		var last int64
		for i, e := range all {
			term := bubble.Get(t, e.Leader(), "leader")
			for _, other := range all[i+1:] {
				bubble.Never(t, other.Leader(), "two leaders")
			}
			require.Greater(t, term.Token(), last)
			last = term.Token()
			require.NoError(t, e.Resign(bubble.Minute(t)))
		}
	})
}
