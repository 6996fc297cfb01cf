package recipetest_test

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
)

// master wants the one znode /master and has it while it stands.
type master struct {
	epoch   uint64
	session int64
	ask     uint64
	has     bool
	token   int64 // of what it has or had
}

type (
	crowned struct { // effect
		epoch uint64
		token int64
	}
	deposed struct{}              // effect
	lapsed  struct{ token int64 } // wish: that possession is over, or could not be had
)

func (m *master) Phase() string {
	switch {
	case m.epoch == 0:
		return "offline"
	case m.has:
		return "master"
	}
	return "waiting"
}

func (m *master) Step(ev machine.Event) []machine.Effect {
	switch ev := ev.(type) {
	case machine.EpochBegan:
		m.epoch, m.session, m.has = ev.Epoch, ev.SessionID, false
		return m.try()
	case machine.EpochEnded:
		m.epoch, m.has = 0, false
	case lapsed:
		if m.has && ev.token == m.token {
			m.has = false
			return m.give()
		}
	case machine.Transacted:
		if ev.Epoch == m.epoch && ev.Ask == m.ask {
			return m.look()
		}
	case machine.Seen:
		if ev.Epoch == m.epoch && ev.Ask == m.ask {
			return m.onSeen(ev)
		}
	case machine.Fired:
		if ev.Epoch == m.epoch {
			had := m.has
			m.has = false
			if had {
				return append([]machine.Effect{deposed{}}, m.try()...)
			}
			return m.try()
		}
	case machine.Removed:
		if ev.Epoch == m.epoch {
			return m.try()
		}
	}
	return nil
}

func (m *master) onSeen(ev machine.Seen) []machine.Effect {
	switch {
	case !ev.Exists:
		return m.try()
	case ev.Stat.Owner == m.session:
		m.has, m.token = true, ev.Stat.Czxid
		return []machine.Effect{crowned{ev.Epoch, ev.Stat.Czxid}}
	}
	return nil
}

func (m *master) try() []machine.Effect {
	m.ask++
	return []machine.Effect{machine.Transact{Epoch: m.epoch, Ask: m.ask, Ops: []machine.Op{{Do: machine.Create, Path: "/master", Ephemeral: true}}}}
}

func (m *master) look() []machine.Effect {
	m.ask++
	return []machine.Effect{machine.Read{Epoch: m.epoch, Ask: m.ask, Path: "/master", Watch: true}}
}

func (m *master) give() []machine.Effect {
	m.ask++
	return []machine.Effect{machine.Remove{Epoch: m.epoch, Ask: m.ask, Path: "/master"}}
}

// reign is what the application sees of one process.
type reign struct {
	master bool
	last   int64
}

func TestOneMasterAtATime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := recipetest.NewWorld(func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "next") })
		reigns := map[*recipetest.Actor]*reign{}
		add := func(name string) {
			r := &reign{}
			a := w.Add(recipetest.Player{
				Name:    name,
				Machine: func() machine.Machine { return &master{} },
				Perform: func(a *recipetest.Actor, e machine.Effect) {
					switch e := e.(type) {
					case crowned:
						if !a.Trusted(e.epoch) {
							a.Tell(lapsed{e.token})
							return
						}
						for other, r := range reigns {
							require.False(t, other != a && r.master, "two masters\n%s", w.Story())
						}
						require.GreaterOrEqual(t, e.token, r.last)
						r.master, r.last = true, e.token
					case deposed:
						r.master = false
					}
				},
				Lapse: func(a *recipetest.Actor) {
					if r.master {
						r.master = false
						a.Tell(lapsed{r.last})
					}
				},
			})
			reigns[a] = r
		}
		add("a")
		add("b")
		add("c")
		for range rapid.IntRange(0, 80).Draw(t, "steps") {
			a := rapid.SampledFrom(w.Actors()).Draw(t, "who")
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				a.Disconnect()
			case 1:
				a.Reconnect()
			case 2:
				a.Expire()
			case 3:
				a.Crash()
			case 4:
				a.Distrust()
			case 5:
				a.Entrust()
			default:
				w.Step()
			}
		}
		w.Actors()[0].Kill()
		w.Bury()
		w.Heal()
		require.True(t, w.Settle(5000), "it does not come to rest\n%s", w.Story())
		masters := 0
		for _, r := range reigns {
			if r.master {
				masters++
			}
		}
		require.Equal(t, 1, masters, "somebody is master in the end\n%s", w.Story())
	})
}

// asker does what it is told to, and keeps the answers.
type asker struct{ answers []machine.Event }

func (a *asker) Step(ev machine.Event) []machine.Effect {
	switch ev := ev.(type) {
	case machine.EpochBegan, machine.EpochEnded, machine.Suspended, machine.Resumed:
		return nil
	case machine.Look, machine.Transact, machine.List, machine.Read, machine.Ensure:
		return []machine.Effect{ev}
	}
	a.answers = append(a.answers, ev)
	return nil
}

// everyOrder plays a story once for each sequence of choices that can be made in it.
func everyOrder(play func(choose func(n int) int)) {
	var chosen, of []int
	for {
		made := 0
		play(func(n int) int {
			if made == len(chosen) {
				chosen, of = append(chosen, 0), append(of, n)
			}
			made++
			return chosen[made-1]
		})
		last := len(chosen) - 1
		for ; last >= 0 && chosen[last] == of[last]-1; last-- {
			chosen, of = chosen[:last], of[:last]
		}
		if last < 0 {
			return
		}
		chosen[last]++
	}
}

// Between two queries of a look others may write, and nothing is seen that is older than what was
// seen before.
func TestALookSeesNothingOlder(t *testing.T) {
	t.Parallel()
	saw := map[[2]int]bool{}
	everyOrder(func(choose func(n int) int) {
		w := recipetest.NewWorld(choose)
		reader := &asker{}
		r := w.Add(recipetest.Player{Name: "reader", Machine: func() machine.Machine { return reader }})
		writer := w.Add(recipetest.Player{Name: "writer", Machine: func() machine.Machine { return &asker{} }})
		require.True(t, w.Settle(100))
		r.Tell(machine.Look{Epoch: 1, Ask: 7, Queries: []machine.Query{{Path: "/a"}, {Path: "/a", Children: true}, {Path: "/none"}}})
		writer.Tell(machine.Transact{Epoch: 1, Ask: 1, Ops: []machine.Op{{Do: machine.Create, Path: "/a"}, {Do: machine.Create, Path: "/a/b"}}})
		for range choose(9) { // all is done after eight steps, or earlier
			w.Step()
		}
		if lost := choose(2) == 1; lost {
			r.Disconnect()
			r.Reconnect()
		}
		require.True(t, w.Settle(100))
		require.Len(t, reader.answers, 1)
		l := reader.answers[0].(machine.Looked)
		require.Len(t, l.Answers, 3)
		seen, listed := l.Answers[0].(machine.Seen), l.Answers[1].(machine.Listed)
		require.Equal(t, []uint64{7, 7, 7}, []uint64{l.Ask, seen.Ask, listed.Ask})
		require.Zero(t, listed.Stat)
		require.False(t, l.Answers[2].(machine.Seen).Exists)
		outcome := [2]int{0, len(listed.Names)}
		if seen.Exists {
			outcome[0] = 1
		}
		saw[outcome] = true
	})
	require.Equal(t, map[[2]int]bool{{0, 0}: true, {0, 1}: true, {1, 1}: true}, saw)
}

func TestFormatOfALook(t *testing.T) {
	t.Parallel()
	require.Equal(t, "Look Ask=1 Queries=[read /a list /b]", recipetest.Format(machine.Look{Ask: 1, Queries: []machine.Query{{Path: "/a"}, {Path: "/b", Children: true}}}))
	require.Equal(t, `Looked Ask=1 Answers=[Seen Path=/a Exists=true Data="x" | Listed Path=/b Names=[c]]`, recipetest.Format(machine.Looked{
		Ask: 1, Answers: []machine.Event{machine.Seen{Path: "/a", Exists: true, Data: []byte("x")}, machine.Listed{Path: "/b", Names: []string{"c"}}},
	}))
}

func TestATrace(t *testing.T) {
	t.Parallel()
	tr := recipetest.NewTrace(t, &master{})
	var took [][2]string
	tr.Transitions(func(from string, _ machine.Event, to string) { took = append(took, [2]string{from, to}) })
	tr.Say("The first one finds nobody, and is master until its znode is deleted.")
	tr.Tell(machine.EpochBegan{Epoch: 1, SessionID: 7, Trusted: true}, machine.Transacted{Epoch: 1, Ask: 1, Failed: -1})
	tr.Tell(machine.Seen{Epoch: 1, Ask: 2, Path: "/master", Exists: true, Stat: machine.Stat{Owner: 7, Czxid: 12}})
	effects := tr.Tell(machine.Fired{Epoch: 1, Path: "/master", Change: machine.Deleted})
	require.Equal(t, deposed{}, effects[0])
	tr.Compare("master")
	require.Equal(t, [][2]string{{"offline", "waiting"}, {"waiting", "waiting"}, {"waiting", "master"}, {"master", "waiting"}}, took)

	if flag.Lookup("recipetest.rewrite").Value.String() == "true" {
		return // the other story is not to be written
	}
	var complaint string
	other := recipetest.NewTrace(complainer{&complaint}, &master{})
	other.Tell(machine.EpochBegan{Epoch: 2})
	other.Compare("master")
	require.Contains(t, complaint, "it tells another story")
}

// A wish is of one possession: word of the one before may come when there is another.
func TestALateLapse(t *testing.T) {
	t.Parallel()
	tr := recipetest.NewTrace(t, &master{})
	tr.Say("It is master, which could not be had, and is master again in the next epoch. News of the first time doesn't end the second.")
	tr.Tell(machine.EpochBegan{Epoch: 1, SessionID: 7, Trusted: true}, machine.Transacted{Epoch: 1, Ask: 1, Failed: -1})
	tr.Tell(machine.Seen{Epoch: 1, Ask: 2, Path: "/master", Exists: true, Stat: machine.Stat{Owner: 7, Czxid: 12}})
	tr.Tell(machine.EpochEnded{Epoch: 1}, machine.EpochBegan{Epoch: 2, SessionID: 8, Trusted: true}, machine.Transacted{Epoch: 2, Ask: 3, Failed: -1})
	tr.Tell(machine.Seen{Epoch: 2, Ask: 4, Path: "/master", Exists: true, Stat: machine.Stat{Owner: 8, Czxid: 15}})
	tr.Tell(lapsed{12})
	tr.Say("News of the second does.")
	tr.Tell(lapsed{15})
	tr.Compare("late")
}

type complainer struct{ said *string }

func (complainer) Helper()             {}
func (complainer) Logf(string, ...any) {}

func (c complainer) Fatalf(format string, _ ...any) { *c.said += format }
