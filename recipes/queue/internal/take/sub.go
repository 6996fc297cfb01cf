package take

import (
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/give"
)

// The machines inside this one that put items: into line, and to the dead letters.
const (
	promoter = iota
	undertaker
)

// sub is a machine inside this one. Its asks are passed on under numbers of this one.
type sub struct {
	machine *give.Machine
	jobs    uint64
	done    map[uint64]func(err error) []machine.Effect
	inbox   []machine.Event
}

func newSub(site give.Site) *sub {
	return &sub{machine: give.New(give.Config{Site: site}), done: make(map[uint64]func(error) []machine.Effect)}
}

// do has an item put in the same transaction in which these operations succeed. It is carried out
// at the end of the step.
func (s *sub) do(i give.Item, also []machine.Op, done func(err error) []machine.Effect) []machine.Effect {
	s.jobs++
	s.done[s.jobs] = done
	s.inbox = append(s.inbox, give.Move{No: s.jobs, Items: []give.Item{i}, Also: also})
	return nil
}

// runSubs tells the machines inside what they are to do.
func (m *Machine) runSubs() []machine.Effect {
	var effects []machine.Effect
	for _, s := range m.subs {
		for len(s.inbox) > 0 {
			ev := s.inbox[0]
			s.inbox = s.inbox[1:]
			effects = append(effects, m.stepSub(s, ev)...)
		}
	}
	return effects
}

// stepSubs tells both what happened.
func (m *Machine) stepSubs(ev machine.Event) []machine.Effect {
	var effects []machine.Effect
	for _, s := range m.subs {
		effects = append(effects, m.stepSub(s, ev)...)
	}
	return effects
}

func (m *Machine) stepSub(s *sub, ev machine.Event) []machine.Effect {
	var effects []machine.Effect
	for _, e := range s.machine.Step(ev) {
		effects = append(effects, m.passOn(s, e)...)
	}
	return effects
}

// passOn asks in the name of the machine inside.
func (m *Machine) passOn(s *sub, e machine.Effect) []machine.Effect {
	answer := func(inner uint64) uint64 {
		return m.ask(func(ev machine.Event) []machine.Effect {
			switch a := ev.(type) {
			case machine.Listed:
				a.Ask = inner
				ev = a
			case machine.Seen:
				a.Ask = inner
				ev = a
			case machine.Transacted:
				a.Ask = inner
				ev = a
			case machine.Ensured:
				a.Ask = inner
				ev = a
			case machine.Woke:
				a.Ask = inner
				ev = a
			}
			return m.stepSub(s, ev)
		})
	}
	switch e := e.(type) {
	case machine.List:
		e.Ask = answer(e.Ask)
		return []machine.Effect{e}
	case machine.Read:
		e.Ask = answer(e.Ask)
		return []machine.Effect{e}
	case machine.Transact:
		e.Ask = answer(e.Ask)
		return []machine.Effect{e}
	case machine.Ensure:
		e.Ask = answer(e.Ask)
		return []machine.Effect{e}
	case machine.Wake:
		e.Ask = answer(e.Ask)
		return []machine.Effect{e}
	case give.Settled:
		done := s.done[e.No]
		delete(s.done, e.No)
		return done(e.Err)
	}
	return nil
}
