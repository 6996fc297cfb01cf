package recipe_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// note is the wish to create a znode under a possession; noted is what came of it.
type (
	note struct {
		path  string
		guard []machine.Op
	}
	noted machine.Transacted
)

// notes is the machine for that, one at a time.
type notes struct {
	requests machine.Requests[string]
	told     []machine.Effect
}

func (n *notes) Step(ev machine.Event) []machine.Effect {
	if _, ok := n.requests.Accept(ev); !ok {
		return nil
	}
	n.told = nil
	switch ev := ev.(type) {
	case machine.EpochBegan:
		n.requests.Begin(ev.Epoch)
	case machine.EpochEnded:
		n.requests.End()
	case note:
		create := machine.Op{Do: machine.Create, Path: ev.path}
		n.requests.Ask(machine.Transact{Ops: append([]machine.Op{create}, ev.guard...)}, ev.path)
	case machine.Transacted:
		n.told = append(n.told, noted(ev))
	case machine.Closing:
		n.told = append(n.told, machine.Stop{})
	}
	return append(n.requests.Flush(), n.told...)
}

// pad is an instance of it.
type pad struct {
	*testing.T
	host    *recipe.Host
	answers chan noted
}

func newPad(t *testing.T, s *session.Session) *pad {
	p := &pad{T: t, answers: make(chan noted, 100)}
	var err error
	p.host, err = recipe.New(recipe.Config{
		Session: s, Kind: "pad", Path: "/pad", Machine: func() machine.Machine { return &notes{} },
		Perform: func(e machine.Effect) { p.answers <- e.(noted) },
	})
	require.NoError(t, err)
	return p
}

func (p *pad) note(path string, guard []machine.Op) noted {
	require.True(p, p.host.Tell(note{path, guard}))
	return <-p.answers
}

func TestATransactionUnderAPossession(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(g *ground, f flag){
		"released": func(g *ground, f flag) { require.True(g, g.h.End(f.Hold, session.ErrReleased)) },
		"deleted":  func(g *ground, f flag) { require.NoError(g, g.sess.Delete(g.ctx, f.Path(), -1)) },
	} {
		for whole, parts := range map[string]func(g *ground) (*session.Hold, flag, int){
			"a possession": func(g *ground) (*session.Hold, flag, int) {
				f := g.plant("a")
				return f.Hold, f, 1
			},
			"a whole": func(g *ground) (*session.Hold, flag, int) {
				a, b := g.plant("a"), g.plant("b")
				h, _ := session.JoinHolds([]*session.Hold{a.Hold, b.Hold}, func(error) {})
				return h, b, 2
			},
		} {
			t.Run(name+" "+whole, func(t *testing.T) {
				inBubble(t, func(g *ground) {
					p := newPad(g.T, g.sess)
					hold, part, checks := parts(g)
					guard, err := recipe.Guard(g.sess, hold)
					require.NoError(g, err)
					require.Len(g, guard, checks)
					require.Equal(g, machine.Done, p.note("/one", guard).Code)

					end(g, part)
					late := p.note("/two", guard)
					require.Equal(g, machine.NoNode, late.Code)
					require.Contains(g, []int{1, checks}, late.Failed, "one of the checks")
					require.Error(g, hold.Err())
					_, exists, err := g.sess.Exists(g.ctx, "/two")
					require.NoError(g, err)
					require.False(g, exists)
				})
			})
		}
	}
}

// The znode goes on standing when one of the possessions that it stands for is given back.
func TestATransactionUnderOneOfManyPossessions(t *testing.T) {
	inBubble(t, func(g *ground) {
		p := newPad(g.T, g.sess)
		f := g.plant("a")
		var shared [2]*session.Hold
		var guards [2][]machine.Op
		for i := range shared {
			var err error
			shared[i], err = g.h.Hold(1, f.Path(), int64(i), func(error) {})
			require.NoError(g, err)
			guards[i], err = recipe.Guard(g.sess, shared[i])
			require.NoError(g, err)
		}
		require.True(g, g.h.End(shared[0], session.ErrReleased))
		require.Equal(g, machine.NoNode, p.note("/one", guards[0]).Code)
		require.Equal(g, machine.Done, p.note("/two", guards[1]).Code)
		require.True(g, shared[1].Valid())
	})
}

func TestAGuardOfAnotherSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.Start(t)
		var pads [2]*pad
		var holds [2]*session.Hold
		for i := range pads {
			s, err := session.Open(t.Context(), srv.Hosts(), session.WithDialer(srv.Dialer()))
			require.NoError(t, err)
			defer func() { require.NoError(t, s.Close(t.Context())) }()
			pads[i] = newPad(t, s)
			path, err := s.Create(t.Context(), "/alive", nil, session.Ephemeral(), session.Sequential())
			require.NoError(t, err)
			holds[i], err = pads[i].host.Hold(1, path, 1, func(error) {})
			require.NoError(t, err)
		}
		whole, end := session.JoinHolds(holds[:], func(error) {})
		defer end(session.ErrReleased)
		for _, hold := range []*session.Hold{holds[1], whole} {
			_, err := recipe.Guard(holds[0].Session(), hold)
			require.ErrorIs(t, err, session.ErrUnsupported)
		}
		_, err := recipe.Guard(holds[0].Session(), holds[0])
		require.NoError(t, err)
	})
}
