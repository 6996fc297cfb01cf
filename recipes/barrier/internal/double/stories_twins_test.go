package double_test

import (
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/barrier/internal/double"
)

const (
	otherB = "_c_00000000-0000-4000-8000-0000000000f2-party-3-b" // of another process
	twin   = "released 3\n" + nameA + "\n" + nameC + "\n" + otherB
)

func tellTwins(s *telling) {
	const older = "_c_00000000-0000-4000-8000-0000000000f1-party-3-a"
	born := func(name string, czxid int64) {
		s.tell(machine.Seen{Epoch: 1, Ask: s.ask, Path: one + "/" + name, Exists: true, Stat: machine.Stat{Czxid: czxid}})
	}
	s.arrived(4)
	s.say("Party a stands there twice: its process was started anew. It counts once, with its later znode.")
	s.own(one)
	s.seen(one, "open 3", 0, 6)
	s.listed(one, "in", "out", nameC, nameA, older, nameB)
	born(nameA, 41)
	born(older, 40)
	s.done(1)

	s.waiting()
	s.say("This party is the one that was replaced.")
	s.fired(one, machine.DataChanged)
	s.seen(one, twin, 1, 6)

	counting := func() {
		s.arrived(4)
		s.own(one)
		s.seen(one, "open 3", 0, 6)
		s.listed(one, "in", "out", nameC, nameA, otherB, nameB)
	}
	counting()
	s.say("It decides, and another process of its id has arrived later: it releases the round without itself.")
	born(otherB, 43)
	born(nameB, 42)
	s.done(1)

	counting()
	s.say("The same, and its znode is deleted meanwhile: it arrives again, once that is known.")
	born(otherB, 43)
	born(nameB, 42)
	decided := s.ask
	s.fired(one+"/"+nameB, machine.Deleted)
	s.ask = decided
	s.done(1)

	counting()
	s.say("The other one arrived earlier, and may be dead. But the own znode is gone: it does not act with the other's, and arrives again.")
	born(otherB, 41)
	s.missing(one + "/" + nameB)
}

func tellWaits(s *telling) {
	waits := func() {
		s.begin(3)
		s.epoch()
		s.want(1)
		s.listed(at, "round-0000000001", "round-0000000002")
		s.seen(one, twin, 1, 4)
	}
	waits()
	s.say("Another process of its id is in an older round. It may be inside, so this one waits.")
	s.seen(one+"/"+otherB, "", 0, 0)
	s.say("That round is over.")
	s.fired(one+"/"+otherB, machine.DataChanged)
	s.listed(at, "round-0000000002")

	waits()
	s.say("The other process dies.")
	s.seen(one+"/"+otherB, "", 0, 0)
	s.fired(one+"/"+otherB, machine.Deleted)

	waits()
	s.say("It was dead already.")
	s.missing(one + "/" + otherB)

	waits()
	s.say("The claim is withdrawn meanwhile, and there is another by the time that the wait ends.")
	s.seen(one+"/"+otherB, "", 0, 0)
	s.tell(double.Withdrawn{Claim: 1})
	s.want(2)
	s.fired(one+"/"+otherB, machine.DataChanged)

	waits()
	s.say("It may not look.")
	s.tell(machine.Seen{Epoch: 1, Ask: s.ask, Path: one + "/" + otherB, Code: machine.Refused, Err: errRights})

	waits()
	s.say("It closes.")
	s.seen(one+"/"+otherB, "", 0, 0)
	s.tell(machine.Closing{})
}
