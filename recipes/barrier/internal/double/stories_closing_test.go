package double_test

import (
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/barrier/internal/double"
)

func tellClosingWaiting(s *telling) {
	s.waiting()
	s.tell(machine.Closing{})
	s.done(0)
}

func tellClosingInside(s *telling) {
	s.inside()
	s.say("It says that it is out, deletes its znode, and does not wait for the others.")
	s.tell(machine.Closing{})
	s.done(1)
	s.tell(machine.Removed{Epoch: 1, Ask: s.ask, Path: one + "/" + nameB})
}

func tellClosingReady(s *telling) {
	s.inside()
	s.tell(double.Deferred{Claim: 1, Once: true})
	s.tell(machine.Closing{})
}

func tellClosingFollowing(s *telling) {
	s.inside()
	s.tell(double.Departed{Claim: 1})
	s.done(1)
	s.tell(machine.Closing{})
}

func tellClosingLeaving(s *telling) {
	s.leaving()
	s.tell(machine.Closing{})
}

func tellClosingTallying(s *telling) {
	s.inside()
	s.tell(double.Departed{Claim: 1})
	s.failed(machine.NodeExists, 0)
	ask := s.ask
	s.tell(machine.Closing{})
	s.ask = ask
	s.seen(one+"/out", "", 2, 2)
}
