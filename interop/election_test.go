package interop_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
)

// candidacy is an election of theirs, and the layout that ours must have beside it.
type candidacy struct {
	theirs maker
	layout election.Layout
	who    string // the verb that asks who leads: the first that is named
}

const theirID = "them"

var elections = map[string]candidacy{
	"curator": {maker{driver: javaDriver, client: "curator", recipe: "latch", more: []string{theirID}}, election.Curator, "leader"},
	"kazoo":   {maker{driver: kazooDriver, client: "kazoo", recipe: "election", more: []string{theirID}}, election.Kazoo, "contenders"},
	"support": {maker{driver: javaDriver, client: "zookeeper", recipe: "support", more: []string{theirID}}, election.LeaderElectionSupport, "leader"},
}

// candidate is one of Troupe's.
type candidate struct {
	own
	election *election.Election
	term     *election.Term
	last     int64
}

func (p candidacy) us(t *testing.T, address, path string, opts ...session.Option) *candidate {
	t.Helper()
	c := &candidate{own: newOwn(t, "candidate", alone, address, opts...)}
	e, err := election.New(c.session, path, election.WithID(c.label), election.WithLayout(p.layout))
	require.NoError(t, err)
	c.election = e
	return c
}

func (p candidacy) them(t *testing.T, address, path string) *foreign {
	t.Helper()
	return p.theirs.make(t, address, path)
}

func (c *candidate) acquire(d time.Duration) (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	term, err := c.election.Lead(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if term.Token() <= c.last {
		return false, fmt.Errorf("the token %d after %d", term.Token(), c.last)
	}
	c.term, c.last = term, term.Token()
	return true, nil
}

func (c *candidate) release() error {
	if !c.term.Valid() {
		return fmt.Errorf("lost: %w", c.term.Err())
	}
	ctx, cancel := patiently()
	defer cancel()
	return c.term.Resign(ctx)
}

// Two candidates of ours and two of theirs lead in turn, for a while; some give up waiting.
func TestElectionsTogether(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	onBoth(t, func(t *testing.T, address string) {
		s := open(t, address)
		each(t, elections, func(t *testing.T, p candidacy) {
			path := pathFor(t)
			contend(t, s, path, 12, p.us(t, address, path), p.them(t, address, path), p.us(t, address, path), p.them(t, address, path))
		})
	})
}

// Who stood first leads first.
func TestElectionsGoByArrival(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	onBoth(t, func(t *testing.T, address string) {
		s := open(t, address)
		each(t, elections, func(t *testing.T, p candidacy) {
			path := pathFor(t)
			arrivals(t, s, path, p.them(t, address, path), p.us(t, address, path), p.us(t, address, path), p.them(t, address, path), p.them(t, address, path))
		})
	})
}

// A leader whose process ends without a word is followed by the next.
func TestLeaderDies(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	onBoth(t, func(t *testing.T, address string) {
		s := open(t, address)
		each(t, elections, func(t *testing.T, p candidacy) {
			path := pathFor(t)
			dies(t, s, path, p.us(t, address, path), p.them(t, address, path))
			dies(t, s, path, p.them(t, address, path), p.us(t, address, path))
		})
	})
}

// A leader of ours that is cut off knows that it no longer leads before theirs does.
func TestLossOfATermIsKnownBeforeTheyLead(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	onBoth(t, func(t *testing.T, address string) {
		s := open(t, address)
		each(t, elections, func(t *testing.T, p candidacy) {
			path, proxy := pathFor(t), through(t, address)
			us := p.us(t, proxy.Addr(), path, session.WithTimeout(6*time.Second), session.WithTick(200*time.Millisecond))
			holds(t, us)
			next := p.them(t, address, path)
			waiting := begin(next)
			inLine(t, s, path, 2)
			proxy.Blackhole()
			require.NoError(t, (<-waiting).err)
			select {
			case <-us.term.Done():
				require.ErrorIs(t, us.term.Err(), session.ErrLost)
			default:
				t.Fatal("they lead while ours believed that it does")
			}
			require.NoError(t, next.release())
			proxy.Heal()
			holds(t, us)
			require.NoError(t, us.release())
		})
	})
}

// Each side tells who leads, when it is the other.
func TestWhoLeadsIsKnownToBoth(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	onBoth(t, func(t *testing.T, address string) {
		s := open(t, address)
		each(t, elections, func(t *testing.T, p candidacy) {
			path := pathFor(t)
			us, them, asker := p.us(t, address, path), p.them(t, address, path), p.them(t, address, path)
			holds(t, them)
			leader, err := us.election.Current(t.Context())
			require.NoError(t, err)
			require.Equal(t, theirID, leader.ID)
			waiting := begin(us)
			inLine(t, s, path, 2)
			require.NoError(t, them.release())
			require.NoError(t, (<-waiting).err)
			theirs := begin(them)
			inLine(t, s, path, 2)
			candidates, err := us.election.Candidates(t.Context())
			require.NoError(t, err)
			require.Equal(t, []string{us.label, theirID}, []string{candidates[0].ID, candidates[1].ID})
			answer := asker.d.call(asker.rec, p.who)
			require.Empty(t, answer.err)
			require.Equal(t, us.label, strings.Split(answer.values[0], ",")[0])
			require.NoError(t, us.release())
			require.NoError(t, (<-theirs).err)
			require.NoError(t, them.release())
			empty(t, s, path)
		})
	})
}

// Who does not understand Troupe's own names sees nobody stand.
func TestElectionsInOurOwnLayoutAreNotTheirs(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	onBoth(t, func(t *testing.T, address string) {
		s := open(t, address)
		for _, name := range []string{"curator", "kazoo"} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				path, p := pathFor(t), elections[name]
				p.layout = election.Troupe
				g := newGuard(t, s, path+"-guard")
				for _, c := range []contender{p.us(t, address, path), p.them(t, address, path)} {
					holds(t, c)
					require.NoError(t, g.enter(c))
				}
				require.Len(t, g.wrong, 2, "seen here and in ZooKeeper")
			})
		}
	})
}
