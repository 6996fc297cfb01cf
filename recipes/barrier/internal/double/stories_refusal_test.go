package double_test

import (
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/barrier/internal/double"
)

func tellWithdrawn(s *telling) {
	s.waiting()
	s.say("Nobody wants it any more. It withdraws if the round is open still.")
	s.tell(double.Withdrawn{Claim: 1})
	s.say("It is not: it is in, and leaves at once.")
	s.failed(machine.BadVersion, 0)
	s.seen(one, released, 1, 5)
	s.done(1)
	s.missing(one + "/" + nameA)
	s.say("It is over.")
	s.failed(machine.NoNode, 0)
	s.say("Another time it comes through.")
	s.want(2)
	s.done(1)
	s.tell(double.Withdrawn{Claim: 2})
	s.own(two)
	s.seen(two, "open 3", 0, 3)
	s.done(0)

	s.waiting()
	s.say("The answer to the withdrawal is lost, it is wanted again, and the round is decided by then: it looks whether it stands in it at all.")
	s.tell(double.Withdrawn{Claim: 1})
	s.failed(machine.Unknown, -1)
	ask := s.ask
	s.want(2)
	s.ask = ask
	s.failed(machine.BadVersion, 0)
	ask = s.ask
	s.tell(machine.Listed{Epoch: 1, Ask: ask, Path: one + "/" + nameB, Code: machine.NoNode})
	s.say("It does not, so the verdict is not its own. It arrives again.")
	s.failed(machine.BadVersion, 0)

	s.arrived(3)
	s.say("It is in before it knows that it stands, and nobody wants it any more.")
	own := s.ask
	s.tell(double.Withdrawn{Claim: 1})
	s.ask = own + 1
	s.seen(one, released, 1, 5)
	s.ask = own
	s.own(one)
}

func tellBroken(s *telling) {
	s.waiting()
	s.say("Somebody breaks the round. It deletes its own znode, and the round if nobody else stands there.")
	s.fired(one, machine.DataChanged)
	s.seen(one, "broken 3\nasked", 1, 4)
	s.tell(machine.Removed{Epoch: 1, Ask: s.ask, Path: one + "/" + nameB})
	s.failed(machine.NotEmpty, 2)
}

func tellDiffering(s *telling) {
	s.arrived(1)
	s.say("The open round is left from when there were four. Nobody else stands in it: it is set anew.")
	s.own(one)
	s.seen(one, "open 4", 0, 3)
	s.done(1)
	s.say("The watch fires for its own change. The round is open still, so that it is watched again.")
	s.fired(one, machine.DataChanged)
	s.seen(one, "open 3", 1, 3)
	s.seen(one, "open 3", 1, 3)
	s.say("Somebody with another number has set it anew in turn, while this one stood there: it lists, and breaks the round.")
	s.fired(one, machine.DataChanged)
	s.seen(one, "open 4", 2, 4)
	s.seen(one, "open 4", 2, 4)
	s.listed(one, "in", "out", nameB, "_c_00000000-0000-4000-8000-00000000000c-party-4-c")
	s.done(3)

	s.arrived(1)
	s.say("The round is left from when there were four, and two stand in it who agree on three: it is set anew.")
	s.own(one)
	s.seen(one, "open 4", 0, 4)
	s.listed(one, "in", "out", nameA, nameB)
	s.done(1)

	s.arrived(1)
	s.say("The same, the answers in the other order.")
	own := s.ask
	s.ask++
	s.seen(one, "open 4", 0, 3)
	s.ask = own
	s.own(one)
}

func tellCrowd(s *telling) {
	s.arrived(4)
	s.say("Four stand where three are to be: nobody enters.")
	s.own(one)
	s.seen(one, "open 3", 0, 6)
	s.listed(one, "in", "out", nameC, nameA, nameB, nameD)
	s.done(1)

	s.arrived(4)
	s.say("The round is released with three others before this one is counted: it is one too many.")
	s.own(one)
	s.seen(one, others, 1, 6)

	s.begin(3)
	s.say("A round goes on with all its parties: one that comes new is one too many.")
	s.epoch()
	s.want(1)
	s.listed(at, "round-0000000001", "round-0000000002")
	s.seen(one, others, 1, 5)
}

func tellRefused(s *telling) {
	s.begin(3)
	s.say("It may not list the rounds.")
	s.epoch()
	s.want(1)
	s.refusedListing(at)
	s.say("It may not make the barrier.")
	s.want(2)
	s.listedNone(at)
	s.tell(machine.Ensured{Epoch: 1, Ask: s.ask, Code: machine.Refused, Err: errRights})
	s.say("A claim that stands until it is served takes the instance with it.")
	s.tell(double.Wanted{Claim: 3})
	s.listed(at, "round-0000000001")
	s.tell(machine.Transacted{Epoch: 1, Ask: s.ask, Code: machine.Refused, Failed: 1, Err: errRights})
}
