package protocol_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/twopc/internal/protocol"
)

// story is a world in which always the first of the possible things happens.
type story struct {
	t     *testing.T
	world *recipetest.World
	truth *truth
	votes map[string]bool // of sites that vote at once
}

func newStory(t *testing.T) *story {
	return &story{t: t, world: recipetest.NewWorld(func(int) int { return 0 }), truth: newTruth(), votes: map[string]bool{}}
}

func (s *story) leader(name string) (*leader, *recipetest.Actor) {
	l := newLeader(s.truth)
	return l, s.world.Add(l.player(name, 1000))
}

// site is one that votes as it is told in votes, or waits.
func (s *story) site(name, process string) (*voter, *recipetest.Actor) {
	v := newVoter(s.truth, name, func(string) (bool, bool) { commit, now := s.votes[name]; return commit, now })
	return v, s.world.Add(v.player(process))
}

// ever is until some line, old or new, has all parts.
func (s *story) ever(parts ...string) {
	s.t.Helper()
	said := func(line string) bool {
		return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) })
	}
	for range 2000 {
		if slices.ContainsFunc(strings.Split(s.world.Story(), "\n"), said) {
			return
		}
		require.True(s.t, s.world.Step(), "nothing can happen\n%s", s.world.Story())
	}
	s.t.Fatalf("it does not come to %q\n%s", parts, s.world.Story())
}

func (s *story) settle() {
	s.t.Helper()
	require.True(s.t, s.world.Settle(5000), "it does not come to rest\n%s", s.world.Story())
}

// A site that starts after the beginning, and dies without a vote, is not waited for.
func TestASiteThatComesLateAndDies(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.votes["x"] = true
	l, a := s.leader("c")
	s.site("x", "x1")
	l.begin(a, "t", guid(1), false, "x", "y")
	s.ever("x x1 ▶ CastDone")
	_, y := s.site("y", "y1")
	s.ever("y y1 ▶ Propose")
	s.ever("c ◀ Seen", "/pay/alive/y Exists=true")
	y.Kill()
	s.world.Bury()
	s.ever("c ▶ Decided", "died before it voted")
	require.Equal(t, protocol.Aborted, s.truth.outcomes[guid(1)])
}

// A site votes to commit and dies. Its successor is offered what it has promised, and can't vote
// otherwise.
func TestASuccessorIsBoundByAVote(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.votes["x"] = true
	l, a := s.leader("c")
	_, x := s.site("x", "x1")
	s.settle()
	l.begin(a, "t", guid(1), false, "x", "y")
	s.ever("x x1 ▶ CastDone")
	x.Kill()
	delete(s.votes, "x")
	_, x2 := s.site("x", "x2")
	s.ever("x x2 ◀ Fired") // its question
	s.world.Bury()
	s.ever("x x2 ▶ Propose", "Voted=committed")
	x2.Tell(protocol.Cast{GUID: guid(1)})
	s.ever("x x2 ▶ CastDone", protocol.ErrVoted.Error())
	s.votes["y"] = true
	s.site("y", "y1")
	s.settle()
	require.Equal(t, protocol.Committed, s.truth.outcomes[guid(1)])
}
