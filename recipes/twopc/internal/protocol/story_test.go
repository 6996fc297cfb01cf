package protocol_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/twopc/internal/protocol"
)

// story is a world in which always the first of the possible things happens, with prose between
// what the machines say. It is compared with testdata/<name>.txt, which -recipetest.rewrite writes.
type story struct {
	t     *testing.T
	world *recipetest.World
	truth *truth
	out   strings.Builder
	told  int
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

// admin does by hand what nobody should.
func (s *story) admin() *recipetest.Actor {
	return s.world.Add(recipetest.Player{Name: "admin", Machine: func() machine.Machine { return &hand{} }})
}

// hand is a machine that carries out what it is told.
type hand struct{ epoch uint64 }

type deed []machine.Op

func (h *hand) Step(ev machine.Event) []machine.Effect {
	switch ev := ev.(type) {
	case machine.EpochBegan:
		h.epoch = ev.Epoch
	case deed:
		return []machine.Effect{machine.Transact{Epoch: h.epoch, Ask: 1, Ops: ev}}
	}
	return nil
}

// say adds what has happened since the last time, and then prose.
func (s *story) say(prose string) {
	s.flush()
	if s.out.Len() > 0 {
		s.out.WriteString("\n")
	}
	for line := range strings.Lines(prose) {
		s.out.WriteString("# " + strings.TrimRight(line, "\n") + "\n")
	}
}

func (s *story) flush() {
	all := strings.Split(s.world.Story(), "\n")
	for _, line := range all[min(s.told, len(all)):] {
		if line != "" {
			s.out.WriteString(line + "\n")
		}
	}
	s.told = len(all)
}

// until lets things happen until something has come true.
func (s *story) until(cond func() bool) {
	s.t.Helper()
	for range 2000 {
		if cond() {
			return
		}
		require.True(s.t, s.world.Step(), "nothing can happen\n%s", s.world.Story())
	}
	s.t.Fatalf("it does not come to that\n%s", s.world.Story())
}

// has is until a line that is new has been said.
func (s *story) has(line string) {
	s.t.Helper()
	from := len(s.world.Story())
	s.until(func() bool { return strings.Contains(s.world.Story()[from:], line) })
}

// ever is until some line, old or new, has all parts.
func (s *story) ever(parts ...string) {
	s.t.Helper()
	s.until(func() bool {
		for line := range strings.Lines(s.world.Story()) {
			if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
				return true
			}
		}
		return false
	})
}

func (s *story) settle() {
	s.t.Helper()
	require.True(s.t, s.world.Settle(5000), "it does not come to rest\n%s", s.world.Story())
}

func (s *story) compare(name string) {
	s.flush()
	recipetest.Golden(s.t, name+".txt", recipetest.Fold(s.out.String()))
}

// stories are told in a world of their own each.
var stories = map[string]func(s *story){
	"commit": func(s *story) {
		s.votes["x"], s.votes["y"] = true, true
		s.say("Two sites register. The coordinator shows that it lives as soon as it has something to coordinate.")
		l, a := s.leader("c")
		s.site("x", "x1")
		s.site("y", "y1")
		s.settle()
		s.say("A transaction begins: all of it in one, once what is around it has been made. Both agree, the coordinator decides by naming both votes,\n" +
			"everybody takes his own znodes away, and the last one the rest.")
		l.begin(a, "t", guid(1), false, "x", "y")
		s.settle()
		require.Equal(s.t, protocol.Committed, s.truth.outcomes[guid(1)])
	},
	"abort": func(s *story) {
		s.votes["x"], s.votes["y"] = false, true
		s.say("A vote to abort is the decision, in one transaction: y finds it made when it votes.")
		l, a := s.leader("c")
		s.site("x", "x1")
		s.site("y", "y1")
		s.settle()
		l.begin(a, "t", guid(1), false, "x", "y")
		s.settle()
		require.Equal(s.t, protocol.Aborted, s.truth.outcomes[guid(1)])
	},
	"timeout": func(s *story) {
		s.votes["x"] = true
		s.say("y never comes. The time for the votes is up, and x, which has promised, learns that nothing comes of it.")
		l, a := s.leader("c")
		s.site("x", "x1")
		l.begin(a, "t", guid(1), false, "x", "y")
		s.settle()
		require.Equal(s.t, protocol.Aborted, s.truth.outcomes[guid(1)])
		s.say("y comes at last, finds what was decided without it, and is the last to go.")
		s.site("y", "y1")
		s.settle()
		require.Empty(s.t, s.world.Children(root.Transactions()))
	},
	"death": func(s *story) {
		s.votes["x"] = true
		s.say("y dies before it has voted: there is nothing to wait for. c reads y's vote once more, since y may have voted before it died.")
		l, a := s.leader("c")
		s.site("x", "x1")
		_, y := s.site("y", "y1")
		s.settle()
		l.begin(a, "t", guid(1), false, "x", "y")
		s.has("y y1 ▶ Propose")
		y.Kill()
		s.world.Bury()
		s.settle()
		require.Equal(s.t, protocol.Aborted, s.truth.outcomes[guid(1)])
	},
	"late": func(s *story) {
		s.votes["x"] = true
		s.say("y comes after the beginning, and dies without a word.")
		l, a := s.leader("c")
		s.site("x", "x1")
		l.begin(a, "t", guid(1), false, "x", "y")
		s.has("x x1 ▶ CastDone")
		_, y := s.site("y", "y1")
		s.has("y y1 ▶ Propose")
		s.ever("c ◀ Seen", "/pay/alive/y Exists=true")
		y.Kill()
		s.world.Bury()
		s.has("c ▶ Decided")
		require.Equal(s.t, protocol.Aborted, s.truth.outcomes[guid(1)])
	},
	"orphan": func(s *story) {
		s.votes["x"] = true
		s.say("The coordinator dies while x is in doubt. x sees it gone, and decides by the same competition that the coordinator would have entered.")
		l, a := s.leader("c")
		s.site("x", "x1")
		s.site("y", "y1")
		s.settle()
		l.begin(a, "t", guid(1), false, "x", "y")
		s.has("x x1 ▶ CastDone")
		a.Kill()
		s.world.Bury()
		s.settle()
		require.Equal(s.t, protocol.Aborted, s.truth.outcomes[guid(1)])
		s.say("Nobody has told the application that began it. A coordinator that starts again takes note of the decision, and the rest is taken away.")
		l2, a2 := s.leader("d")
		l2.adopt(a2, "t")
		s.settle()
		s.say("y votes at last, too late, and goes.")
	},
	"peers": func(s *story) {
		s.votes["x"], s.votes["y"] = true, true
		s.say("The peers decide: each watches the votes of all. Both try, one wins. The coordinator, dead by then, is not needed.")
		l, a := s.leader("c")
		s.site("x", "x1")
		s.site("y", "y1")
		s.settle()
		l.begin(a, "t", guid(1), true, "x", "y")
		s.has("c ▶ Noted N=1 Request={N:1 ID:t GUID:" + guid(1) + " Sites")
		a.Kill()
		s.settle()
		require.Equal(s.t, protocol.Committed, s.truth.outcomes[guid(1)])
	},
	"takeover": func(s *story) {
		s.votes["x"] = true
		s.say("The coordinator dies, and its session has not expired. One that starts again can't tell, asks, and gets no answer: it waits.")
		l, a := s.leader("c")
		s.site("x", "x1")
		l.begin(a, "t", guid(1), false, "x", "y")
		s.has("x x1 ▶ CastDone")
		a.Kill()
		l2, a2 := s.leader("d")
		l2.outlive(a2, []string{"c"}, func() { l2.adopt(a2, "t") })
		s.has("d ◀ Fired")
		s.say("It is gone: d takes the transaction over, and waits for y on its own time.")
		s.votes["y"] = true
		for _, x := range s.world.Actors() {
			x.Disconnect() // x shall not be quicker
		}
		a2.Reconnect()
		s.world.Bury()
		s.has("d ▶ Noted")
		s.world.Heal()
		s.site("y", "y1")
		s.settle()
		require.Equal(s.t, protocol.Committed, s.truth.outcomes[guid(1)])
	},
	"rivals": func(s *story) {
		s.say("A coordinator that lives answers, and keeps what is its own.")
		l, a := s.leader("c")
		l.begin(a, "t", guid(1), false, "x")
		s.has("c ▶ Noted N=1 Request={N:1 ID:t GUID:" + guid(1) + " Sites")
		l2, a2 := s.leader("d")
		l2.outlive(a2, []string{"c"}, func() { l2.adopt(a2, "t") })
		s.has("d ▶ Ended")
		s.has("d ▶ Ended")
		s.say("An id is in use until its transaction is finished.")
		l2.begin(a2, "t", guid(2), false, "x")
		s.has("d ▶ Ended")
		l.abort(a, 1)
		s.has("c ▶ Decided")
		s.say("Nothing to take over; and one given up before it could begin.")
		l2.adopt(a2, "none")
		s.has("d ▶ Ended")
		a2.Expire()
		s.has("d ◀ EpochEnded")
		n := l2.begin(a2, "u", guid(3), false, "x")
		l2.abort(a2, n)
		s.has("d ▶ Ended")
	},
	"doubt": func(s *story) {
		s.votes["x"] = true
		s.say("x votes to commit and dies. Its successor meets the old presence, waits until that is gone, and is offered what x has promised.")
		l, a := s.leader("c")
		_, x := s.site("x", "x1")
		s.settle()
		l.begin(a, "t", guid(1), false, "x", "y")
		s.has("x x1 ▶ CastDone")
		x.Kill()
		delete(s.votes, "x")
		_, x2 := s.site("x", "x2")
		s.has("x x2 ◀ Fired")
		s.world.Bury()
		s.has("x x2 ▶ Propose")
		s.say("Its application would abort now. It can't.")
		x2.Tell(protocol.Cast{GUID: guid(1)})
		s.has("x x2 ▶ CastDone")
		s.say("y agrees, and x learns what it has promised.")
		s.votes["y"] = true
		s.site("y", "y1")
		s.settle()
		require.Equal(s.t, protocol.Committed, s.truth.outcomes[guid(1)])
	},
	"twins": func(s *story) {
		s.say("A second site of a name that lives is told so, and ends.")
		s.site("x", "x1")
		s.settle()
		_, twin := s.site("x", "x2")
		s.settle()
		over, err := twin.Stopped()
		require.True(s.t, over)
		require.ErrorIs(s.t, err, protocol.ErrTaken)
	},
	"again": func(s *story) {
		s.say("A site whose session expires meets its own presence, of the session before: it is no second site.")
		_, x := s.site("x", "x1")
		s.settle()
		x.Expire()
		s.settle()
		require.True(s.t, s.world.Exists(root.Alive("x")))
	},
	"gone": func(s *story) {
		s.votes["x"] = true
		s.say("Somebody deletes the transaction while x is in doubt. x says so, and never that it was aborted; and so does the coordinator.")
		l, a := s.leader("c")
		s.truth.lost = true
		s.site("x", "x1")
		l.begin(a, "t", guid(1), false, "x", "y")
		s.has("x x1 ▶ CastDone")
		admin := s.admin()
		at := root.Tx("t") + "/"
		var ops deed
		for _, child := range s.world.Children(root.Tx("t")) {
			ops = append(ops, machine.Op{Do: machine.Delete, Path: at + child, Version: machine.Any})
		}
		admin.Tell(append(ops, machine.Op{Do: machine.Delete, Path: root.Tx("t"), Version: machine.Any}))
		s.has("c ▶ Ended")
		s.settle()
		s.say("y comes, and finds an entry in its inbox without its transaction.")
		s.site("y", "y1")
		s.settle()
		require.Empty(s.t, s.world.Children(root.Inbox("y")))
		require.Empty(s.t, s.truth.outcomes)
	},
	"lost": func(s *story) {
		s.say("The coordinator's decision is lost on the way, and nobody knows that. Meanwhile x votes to abort. The coordinator looks, and takes x's for the decision.")
		l, a := s.leader("c")
		_, x := s.site("x", "x1")
		s.settle()
		l.begin(a, "t", guid(1), false, "x")
		s.has("x x1 ▶ Propose")
		s.ever("c ◀ Seen", "Path=/pay/alive/x")
		l.abort(a, 1)
		s.has("c ▶ Transact")
		a.Disconnect()
		x.Tell(protocol.Cast{GUID: guid(1), Reason: "out of stock"})
		s.has("x x1 ▶ CastDone")
		a.Reconnect()
		s.settle()
		require.Equal(s.t, protocol.Aborted, s.truth.outcomes[guid(1)])
	},
	"begun": func(s *story) {
		s.say("The answer to c's beginning is lost, and its session expires. x, which sees it gone, aborts, and d takes over.")
		l, a := s.leader("c")
		_, x := s.site("x", "x1")
		s.settle()
		l.begin(a, "t", guid(1), false, "x")
		s.until(func() bool { return s.world.Exists(root.Tx("t")) })
		a.Expire()
		a.Disconnect()
		s.has("x x1 ▶ Acked")
		s.say("d's application acknowledges what it is told, and d takes the whole away.")
		l2, a2 := s.leader("d")
		l2.adopt(a2, "t")
		s.has("d ▶ Ended N=2")
		require.False(s.t, s.world.Exists(root.Tx("t")))
		s.say("c finds nothing, and its presence is not the one that its beginning has checked: it can't know, and does not begin again.")
		a.Reconnect()
		s.has("c ▶ Ended")
		s.settle()
		require.Equal(s.t, protocol.Aborted, s.truth.outcomes[guid(1)])
		x.Kill()
	},
	"not-begun": func(s *story) {
		s.say("c's beginning is lost on the way. c finds nothing of it, and its presence is still the one that its beginning has checked:\n" +
			"nobody can have taken it over and deleted it. So it begins.")
		s.votes["x"] = true
		l, a := s.leader("c")
		s.site("x", "x1")
		l.begin(a, "warm", guid(9), false, "x")
		s.settle()
		n := l.begin(a, "t", guid(1), false, "x")
		s.until(func() bool { return l.txs[n].sent() })
		a.Disconnect()
		require.False(s.t, s.world.Exists(root.Tx("t")))
		a.Reconnect()
		s.settle()
		require.Equal(s.t, protocol.Committed, s.truth.outcomes[guid(1)])
	},
	"withdrawn": func(s *story) {
		s.say("The answer to c's beginning is lost. c's application gives it up: it is told that it may have begun.")
		l, a := s.leader("c")
		s.votes["x"] = true
		s.site("x", "x1")
		s.settle()
		n := l.begin(a, "t", guid(1), true, "x")
		s.until(func() bool { return s.world.Exists(root.Tx("t")) })
		a.Disconnect()
		l.abandon(a, n)
		s.has("x x1 ▶ Acked")
		s.say("x has voted and committed it. c sees that, and its application, which may have no use for it, finds it again with Recover.")
		a.Reconnect()
		s.has("c ▶ Decided")
		l.adopt(a, "t")
		s.settle()
		require.Empty(s.t, s.world.Children(root.Transactions()))
		require.Equal(s.t, protocol.Committed, s.truth.outcomes[guid(1)])
	},
	"crash": func(s *story) {
		s.votes["x"] = true
		s.say("The machines crash and are made anew: the coordinator begins what it may have begun already, and finds that it has.")
		l, a := s.leader("c")
		_, x := s.site("x", "x1")
		s.settle()
		l.begin(a, "t", guid(1), false, "x", "y")
		s.until(func() bool { return s.world.Exists(root.Tx("t")) })
		a.Crash()
		s.has("c ▶ Noted N=1 Request={N:1 ID:t GUID:" + guid(1) + " Sites")
		s.say("The site votes, crashes before it hears that it has, and is told the wish again.")
		s.until(func() bool { return len(s.world.Data(root.Vote("t", guid(1), "x"))) > 0 })
		x.Crash()
		s.has("x x1 ▶ CastDone")
		s.say("And an acknowledgement, the same.")
		l.abort(a, 1)
		s.until(func() bool { return s.world.Data(root.Vote("t", guid(1), "x")) == nil })
		x.Crash()
		s.settle()
	},
}

// TestStories: what the machines do is what is written in testdata.
func TestStories(t *testing.T) {
	t.Parallel()
	for name, tell := range stories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			tell(s)
			s.compare(name)
		})
	}
}
