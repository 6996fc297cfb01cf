package double_test

import (
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/barrier/internal/double"
)

// stories are the orders of events that are worth reading.
var stories = []struct {
	name string
	tell func(s *telling)
}{
	{"round", tellRound},
	{"first", tellFirst},
	{"last", tellLast},
	{"withdrawn", tellWithdrawn},
	{"broken", tellBroken},
	{"differing", tellDiffering},
	{"crowd", tellCrowd},
	{"twins", tellTwins},
	{"waits", tellWaits},
	{"anew", tellAnew},
	{"deaths", tellDeaths},
	{"closer", tellCloser},
	{"own", tellOwn},
	{"trust", tellTrust},
	{"epochs", tellEpochs},
	{"lost", tellLost},
	{"sweep", tellSweep},
	{"crash", tellCrash},
	{"closing-waiting", tellClosingWaiting},
	{"closing-inside", tellClosingInside},
	{"closing-ready", tellClosingReady},
	{"closing-following", tellClosingFollowing},
	{"closing-leaving", tellClosingLeaving},
	{"closing-tallying", tellClosingTallying},
	{"refused", tellRefused},
}

func tellRound(s *telling) {
	s.begin(3)
	s.say("Party b of three. An ordinary round: six requests, and three watch events.")
	s.epoch()
	s.want(1)
	s.say("It is new, so it looks which round is the newest.")
	s.listed(at, "round-0000000001")
	s.say("It has arrived, as the second. It reads its own znode and the round, and watches both.")
	s.done(2)
	s.own(one)
	s.seen(one, "open 3", 0, 4)
	s.say("Somebody has decided.")
	s.fired(one, machine.DataChanged)
	s.seen(one, released, 1, 5)
	s.say("It departs, as the second. Its neighbour in the ring stands.")
	s.tell(double.Departed{Claim: 1})
	s.done(2)
	s.seen(one+"/"+nameA, "", 0, 0)
	s.say("Something is written into the neighbour's znode: the round is over. The own znode goes with it.")
	s.fired(one+"/"+nameA, machine.DataChanged)
	s.fired(one+"/"+nameB, machine.Deleted)
	s.say("The next round. There is no need to look.")
	s.want(2)
}

func tellFirst(s *telling) {
	s.begin(3)
	s.say("There is nothing yet. It makes the barrier, and the first round, unless somebody else has since.")
	s.epoch()
	s.want(1)
	s.listedNone(at)
	s.tell(machine.Ensured{Epoch: 1, Ask: s.ask})
	s.say("Somebody was first. It is probably open still.")
	s.failed(machine.BadVersion, 0)
	s.say("It is not: it looks again, and reads the newest.")
	s.failed(machine.BadVersion, 0)
	s.listed(at, "round-0000000004")
	s.say("Somebody deleted the one after it, so it makes that.")
	s.seen(one, "broken 3\nasked", 1, 2)
	s.done(9)
	s.say("The round before that is an older one now, and may have parties in it.")
	s.listed(at, "round-0000000004", "round-0000000005")
	s.seen("/b/round-0000000004", "broken 3\nasked", 1, 2)
	s.listed("/b/round-0000000004/out")
	s.done(1)
	s.say("The same in another order: the newest was set anew, so that its version is another.")
	s.failed(machine.BadVersion, 0)
	s.listed(at, "round-0000000005")
	s.seen("/b/round-0000000005", "open 3", 1, 2)
}

func tellLast(s *telling) {
	s.arrived(3)
	s.say("It is the third of three. It sees that many standing, so it lists them, and releases the round if all are there.")
	s.own(one)
	s.seen(one, "open 3", 0, 5)
	s.listed(one, "in", "out", nameC, nameA, nameB)
	s.say("One has died meanwhile. It looks again, and waits: whoever comes next is the third then.")
	s.failed(machine.NoNode, 0)
	s.seen(one, "open 3", 0, 4)
	s.say("Another has come, and decided first.")
	s.fired(one, machine.DataChanged)
	s.seen(one, released, 1, 5)
}

func tellAnew(s *telling) {
	s.arrived(3)
	s.say("It is the third of three, and lists them.")
	s.own(one)
	s.seen(one, "open 3", 0, 5)
	s.listed(one, "in", "out", nameC, nameA, nameB)
	s.say("A process was started anew and has arrived behind the listing, as the count of arrivals shows: the znode found of it is its former life's. It counts again.")
	s.failed(machine.BadVersion, 0)
	s.seen(one, "open 3", 0, 6)
	s.seen(one+"/in", "", 4, 0)
	s.listed(one, "in", "out", nameC, nameA, nameB)
	s.say("Again; and then somebody has deleted the count. Nobody can arrive any more, so there is nothing to check.")
	s.failed(machine.BadVersion, 0)
	s.seen(one, "open 3", 0, 5)
	s.missing(one + "/in")
	s.listed(one, "out", "foreign", nameC, nameA, nameB)
	s.done(1)
}

func tellCloser(s *telling) {
	s.inside()
	s.say("It departs as the last of three, and closes the round: first it tells everybody, then it deletes everything.")
	s.tell(double.Departed{Claim: 1})
	s.done(3)
	s.done(1)

	s.inside()
	s.say("Something foreign stands in the round: the parties go, and the rest stays.")
	s.tell(double.Departed{Claim: 1})
	s.done(3)
	s.failed(machine.NotEmpty, 10)
	s.listed(one, "in", "out", "foreign", nameA, nameB, nameC)
	s.done(1)

	s.inside()
	s.say("Somebody else was first.")
	s.tell(double.Departed{Claim: 1})
	s.done(3)
	s.failed(machine.NoNode, 0)
	s.listedNone(one)
}

func tellSweep(s *telling) {
	s.begin(3)
	s.say("There are older rounds. The first has parties in it; the second was left by the dead, and is deleted; the third is gone by now.")
	s.epoch()
	s.want(1)
	s.listed(at, "round-0000000009", "round-0000000001", "foreign", "round-0000000002", "round-0000000003")
	s.seen(one, others, 1, 3)
	s.seen(two, others, 1, 2)
	s.listed(two+"/out", nameA, nameB)
	s.done(1)
	s.missing("/b/round-0000000003")
}
