package double_test

import (
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/barrier/internal/double"
)

func tellDeaths(s *telling) {
	s.leaving()
	s.say("Its neighbour dies inside. It says so for it, and watches the next one.")
	s.fired(one+"/"+nameA, machine.Deleted)
	s.done(2)
	s.seen(one+"/"+nameC, "", 0, 0)
	s.say("That one has departed, before it died. Who said so may have died before he could close the round, so it reads how many are out.")
	s.fired(one+"/"+nameC, machine.Deleted)
	s.failed(machine.NodeExists, 0)
	s.seen(one+"/out", "", 3, 3)
	s.say("All are out: it closes the round. Not all stand any more, so it lists those that do.")
	s.failed(machine.NoNode, 0)
	s.listed(one, "in", "out", nameB)
	s.done(1)
}

func tellOwn(s *telling) {
	s.waiting()
	s.say("Somebody deletes its znode while it waits: it arrives again.")
	s.fired(one+"/"+nameB, machine.Deleted)

	s.inside()
	s.say("While it is inside: the passage is lost, and it says that it is out.")
	s.fired(one+"/"+nameB, machine.Deleted)

	s.leaving()
	s.say("While it leaves: that is no end of the round.")
	s.fired(one+"/"+nameB, machine.Deleted)

	s.arrived(3)
	s.say("While it counts and decides.")
	s.own(one)
	s.seen(one, "open 3", 0, 5)
	s.listed(one, "in", "out", nameC, nameA, nameB)
	ask := s.ask
	s.fired(one+"/"+nameB, machine.Deleted)
	s.ask = ask
	s.failed(machine.NoNode, 1)

	s.arrived(3)
	s.say("Before it was seen.")
	s.listedNone(one + "/" + nameB)

	s.arrived(3)
	s.say("Somebody deletes the whole round.")
	s.own(one)
	s.missing(one)
}

func tellTrust(s *telling) {
	s.inside()
	s.say("No possession is possible now. The place is kept.")
	s.tell(double.Deferred{Claim: 1, Once: true})
	s.tell(machine.TrustGained{Epoch: 1})
	s.say("Trust comes back while word that it was missing is on its way.")
	s.tell(machine.TrustGained{Epoch: 1})
	s.tell(double.Deferred{Claim: 1, Once: true})
	s.tell(double.Deferred{Claim: 1, Once: true})
	s.tell(machine.Resumed{Epoch: 1})
	s.tell(double.Deferred{Claim: 1, Once: true})
	s.say("Somebody deletes its znode meanwhile: the claim arrives again, in the next round.")
	s.fired(one+"/"+nameB, machine.Deleted)

	s.inside()
	s.say("Nobody wants it any more.")
	s.tell(double.Deferred{Claim: 1, Once: true})
	s.tell(double.Withdrawn{Claim: 1})
}

func tellEpochs(s *telling) {
	s.waiting()
	s.say("The epoch ends while it waits: it arrives again in the next.")
	s.tell(machine.EpochEnded{Epoch: 1})
	s.tell(machine.EpochBegan{Epoch: 2, SessionID: 8, Trusted: true})

	s.leaving()
	s.say("While it leaves: it goes on following the round. An answer of the old epoch is void.")
	s.tell(machine.EpochEnded{Epoch: 1})
	s.tell(double.Wanted{Claim: 2, Once: true}, machine.EpochBegan{Epoch: 2, SessionID: 8, Trusted: true})
	s.tell(machine.Transacted{Epoch: 1, Ask: s.ask, Failed: -1})
	s.tell(machine.Transacted{Epoch: 2, Ask: s.ask, Code: machine.NodeExists})
	s.tell(machine.Seen{Epoch: 2, Ask: s.ask, Path: one + "/out", Exists: true, Stat: machine.Stat{Version: 2}})
	s.tell(machine.Seen{Epoch: 2, Ask: s.ask, Path: one + "/" + nameA, Exists: true})
	s.tell(machine.Fired{Epoch: 2, Path: one + "/" + nameA, Change: machine.DataChanged})

	s.inside()
	s.say("No passage came of the claim, and the epoch has ended before word of that: the claim stands again.")
	s.tell(machine.EpochEnded{Epoch: 1}, double.Deferred{Claim: 1, Once: true}, machine.EpochBegan{Epoch: 2, SessionID: 8, Trusted: true})
	s.tell(machine.Transacted{Epoch: 2, Ask: s.ask, Code: machine.NoNode})

	s.inside()
	s.say("The same, and the round is over by then.")
	s.tell(machine.EpochEnded{Epoch: 1}, machine.EpochBegan{Epoch: 2, SessionID: 8, Trusted: true})
	s.tell(machine.Transacted{Epoch: 2, Ask: s.ask, Code: machine.NoNode})
	s.tell(double.Deferred{Claim: 1, Once: true})
}

func tellLost(s *telling) {
	s.begin(3)
	s.say("The answer to its arrival is lost. It looks: it has arrived. It may have been the last.")
	s.epoch()
	s.want(1)
	s.listed(at, "round-0000000001")
	s.failed(machine.Unknown, -1)
	s.seen(one+"/"+nameB, "", 0, 0)
	s.own(one)
	s.seen(one, "open 3", 0, 5)
	s.say("Nor does it know how many arrived before it: that is read before the parties are listed.")
	s.seen(one+"/in", "", 3, 0)
	s.say("The answer to its decision is lost. It looks.")
	s.listed(one, "in", "out", nameC, nameA, nameB)
	s.failed(machine.Unknown, -1)
	s.seen(one, released, 1, 5)
	s.say("The answer to its departure is lost. It says it again.")
	s.tell(double.Departed{Claim: 1})
	s.failed(machine.Unknown, -1)
	s.failed(machine.NodeExists, 0)
	s.seen(one+"/out", "", 3, 3)
	s.say("The answer to the end is lost. It looks.")
	s.failed(machine.Unknown, -1)
	s.listedNone(one)
	s.say("The answer to its next arrival is lost, and so was the arrival.")
	s.want(2)
	s.failed(machine.Unknown, -1)
	s.missing(two + "/_c_00000000-0000-4000-8000-000000000002-party-3-b")
}

func tellCrash(s *telling) {
	s.begin(3)
	s.say("A machine made anew is told of the round that the one before was in, and of what is wanted, twice. First the round is followed to its end.")
	s.epoch()
	s.tell(double.Followed{Claim: 1, Round: 1, Names: []string{nameB, nameA, nameC}, Self: nameB})
	ask := s.ask
	s.tell(double.Wanted{Claim: 2, Once: true}, double.Wanted{Claim: 2, Once: true}, double.Departed{Claim: 1})
	s.ask = ask
	s.failed(machine.NodeExists, 0)
	s.missing(one + "/out")
}
