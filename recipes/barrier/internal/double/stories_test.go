package double_test

import (
	"github.com/troupe-go/troupe/recipe"
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
	s.fired(one, recipe.DataChanged)
	s.seen(one, released, 1, 5)
	s.say("It departs, as the second. Its neighbour in the ring stands.")
	s.tell(double.Departed{Claim: 1})
	s.done(2)
	s.seen(one+"/"+nameA, "", 0, 0)
	s.say("Something is written into the neighbour's znode: the round is over. The own znode goes with it.")
	s.fired(one+"/"+nameA, recipe.DataChanged)
	s.fired(one+"/"+nameB, recipe.Deleted)
	s.say("The next round. There is no need to look.")
	s.want(2)
}

func tellFirst(s *telling) {
	s.begin(3)
	s.say("There is nothing yet. It makes the barrier, and the first round, unless somebody else has since.")
	s.epoch()
	s.want(1)
	s.listedNone(at)
	s.tell(recipe.Ensured{Epoch: 1, Ask: s.ask})
	s.say("Somebody was first. It is probably open still.")
	s.failed(recipe.BadVersion, 0)
	s.say("It is not: it looks again, and reads the newest.")
	s.failed(recipe.BadVersion, 0)
	s.listed(at, "round-0000000004")
	s.say("Somebody deleted the one after it, so it makes that.")
	s.seen(one, "broken 3\nasked", 1, 2)
	s.done(9)
	s.say("The same in another order: the newest was set anew, so that its version is another.")
	s.failed(recipe.BadVersion, 0)
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
	s.failed(recipe.NoNode, 0)
	s.seen(one, "open 3", 0, 4)
	s.say("Another has come, and decided first.")
	s.fired(one, recipe.DataChanged)
	s.seen(one, released, 1, 5)
}

func tellWithdrawn(s *telling) {
	s.waiting()
	s.say("Nobody wants it any more. It withdraws if the round is open still.")
	s.tell(double.Withdrawn{Claim: 1})
	s.say("It is not: it is in, and leaves at once.")
	s.failed(recipe.BadVersion, 0)
	s.seen(one, released, 1, 5)
	s.done(1)
	s.missing(one + "/" + nameA)
	s.say("It is over.")
	s.failed(recipe.NoNode, 0)
	s.say("Another time it comes through.")
	s.want(2)
	s.done(1)
	s.tell(double.Withdrawn{Claim: 2})
	s.own(two)
	s.seen(two, "open 3", 0, 3)
	s.done(0)

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
	s.fired(one, recipe.DataChanged)
	s.seen(one, "broken 3\nasked", 1, 4)
	s.tell(recipe.Removed{Epoch: 1, Ask: s.ask, Path: one + "/" + nameB})
	s.failed(recipe.NotEmpty, 2)
}

func tellDiffering(s *telling) {
	s.arrived(1)
	s.say("The open round is left from when there were four. Nobody else stands in it: it is set anew.")
	s.own(one)
	s.seen(one, "open 4", 0, 3)
	s.done(1)
	s.say("The watch fires for its own change. The round is open still, so that it is watched again.")
	s.fired(one, recipe.DataChanged)
	s.seen(one, "open 3", 1, 3)
	s.seen(one, "open 3", 1, 3)
	s.say("Somebody with another number has set it anew in turn, while this one stood there: it lists, and breaks the round.")
	s.fired(one, recipe.DataChanged)
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
	s.listed(one, "in", "out", nameC, nameA, nameB, "_c_00000000-0000-4000-8000-00000000000d-party-3-d")
	s.done(1)

	s.arrived(4)
	s.say("The round is released with three others before this one is counted: it is one too many.")
	s.own(one)
	s.seen(one, "released 3\n"+nameA+"\n"+nameC+"\n_c_00000000-0000-4000-8000-00000000000d-party-3-d", 1, 6)

	s.begin(3)
	s.say("A round goes on with all its parties: one that comes new is one too many.")
	s.epoch()
	s.want(1)
	s.listed(at, "round-0000000001", "round-0000000002")
	s.seen(one, "released 3\n"+nameA+"\n"+nameC+"\n_c_00000000-0000-4000-8000-00000000000d-party-3-d", 1, 5)
}

func tellTwins(s *telling) {
	const older = "_c_00000000-0000-4000-8000-0000000000f1-party-3-a"
	s.arrived(4)
	s.say("Party a stands there twice: its process was started anew. It counts once, with its later znode.")
	s.own(one)
	s.seen(one, "open 3", 0, 6)
	s.listed(one, "in", "out", nameC, nameA, older, nameB)
	s.tell(recipe.Seen{Epoch: 1, Ask: s.ask, Path: one + "/" + nameA, Exists: true, Stat: recipe.Stat{Czxid: 41}})
	s.tell(recipe.Seen{Epoch: 1, Ask: s.ask, Path: one + "/" + older, Exists: true, Stat: recipe.Stat{Czxid: 40}})
	s.done(1)

	s.waiting()
	s.say("This party is the one that was replaced.")
	s.fired(one, recipe.DataChanged)
	s.seen(one, "released 3\n"+nameA+"\n"+nameC+"\n_c_00000000-0000-4000-8000-0000000000f2-party-3-b", 1, 6)
}

func tellDeaths(s *telling) {
	s.leaving()
	s.say("Its neighbour dies inside. It says so for it, and watches the next one.")
	s.fired(one+"/"+nameA, recipe.Deleted)
	s.done(2)
	s.seen(one+"/"+nameC, "", 0, 0)
	s.say("That one has departed, before it died. Who said so may have died before he could close the round, so it reads how many are out.")
	s.fired(one+"/"+nameC, recipe.Deleted)
	s.failed(recipe.NodeExists, 0)
	s.seen(one+"/out", "", 3, 3)
	s.say("All are out: it closes the round. Not all stand any more, so it lists those that do.")
	s.failed(recipe.NoNode, 0)
	s.listed(one, "in", "out", nameB)
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
	s.failed(recipe.NotEmpty, 10)
	s.listed(one, "in", "out", "foreign", nameA, nameB, nameC)
	s.done(1)

	s.inside()
	s.say("Somebody else was first.")
	s.tell(double.Departed{Claim: 1})
	s.done(3)
	s.failed(recipe.NoNode, 0)
	s.listedNone(one)
}

func tellOwn(s *telling) {
	s.waiting()
	s.say("Somebody deletes its znode while it waits: it arrives again.")
	s.fired(one+"/"+nameB, recipe.Deleted)

	s.inside()
	s.say("While it is inside: the passage is lost, and it says that it is out.")
	s.fired(one+"/"+nameB, recipe.Deleted)

	s.leaving()
	s.say("While it leaves: that is no end of the round.")
	s.fired(one+"/"+nameB, recipe.Deleted)

	s.arrived(3)
	s.say("While it counts and decides.")
	s.own(one)
	s.seen(one, "open 3", 0, 5)
	s.listed(one, "in", "out", nameC, nameA, nameB)
	ask := s.ask
	s.fired(one+"/"+nameB, recipe.Deleted)
	s.ask = ask
	s.failed(recipe.NoNode, 1)

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
	s.tell(recipe.TrustGained{Epoch: 1})
	s.say("Trust comes back while word that it was missing is on its way.")
	s.tell(recipe.TrustGained{Epoch: 1})
	s.tell(double.Deferred{Claim: 1, Once: true})
	s.tell(double.Deferred{Claim: 1, Once: true})
	s.tell(recipe.Resumed{Epoch: 1})
	s.tell(double.Deferred{Claim: 1, Once: true})
	s.say("Somebody deletes its znode meanwhile: the claim arrives again, in the next round.")
	s.fired(one+"/"+nameB, recipe.Deleted)

	s.inside()
	s.say("Nobody wants it any more.")
	s.tell(double.Deferred{Claim: 1, Once: true})
	s.tell(double.Withdrawn{Claim: 1})
}

func tellEpochs(s *telling) {
	s.waiting()
	s.say("The epoch ends while it waits: it arrives again in the next.")
	s.tell(recipe.EpochEnded{Epoch: 1})
	s.tell(recipe.EpochBegan{Epoch: 2, SessionID: 8, Trusted: true})

	s.leaving()
	s.say("While it leaves: it goes on following the round. An answer of the old epoch is void.")
	s.tell(recipe.EpochEnded{Epoch: 1})
	s.tell(double.Wanted{Claim: 2, Once: true}, recipe.EpochBegan{Epoch: 2, SessionID: 8, Trusted: true})
	s.tell(recipe.Transacted{Epoch: 1, Ask: s.ask, Failed: -1})
	s.tell(recipe.Transacted{Epoch: 2, Ask: s.ask, Code: recipe.NodeExists})
	s.tell(recipe.Seen{Epoch: 2, Ask: s.ask, Path: one + "/out", Exists: true, Stat: recipe.Stat{Version: 2}})
	s.tell(recipe.Seen{Epoch: 2, Ask: s.ask, Path: one + "/" + nameA, Exists: true})
	s.tell(recipe.Fired{Epoch: 2, Path: one + "/" + nameA, Change: recipe.DataChanged})

	s.inside()
	s.say("No passage came of the claim, and the epoch has ended before word of that: the claim stands again.")
	s.tell(recipe.EpochEnded{Epoch: 1}, double.Deferred{Claim: 1, Once: true}, recipe.EpochBegan{Epoch: 2, SessionID: 8, Trusted: true})
	s.tell(recipe.Transacted{Epoch: 2, Ask: s.ask, Code: recipe.NoNode})

	s.inside()
	s.say("The same, and the round is over by then.")
	s.tell(recipe.EpochEnded{Epoch: 1}, recipe.EpochBegan{Epoch: 2, SessionID: 8, Trusted: true})
	s.tell(recipe.Transacted{Epoch: 2, Ask: s.ask, Code: recipe.NoNode})
	s.tell(double.Deferred{Claim: 1, Once: true})
}

func tellLost(s *telling) {
	s.begin(3)
	s.say("The answer to its arrival is lost. It looks: it has arrived. It may have been the last.")
	s.epoch()
	s.want(1)
	s.listed(at, "round-0000000001")
	s.failed(recipe.Unknown, -1)
	s.seen(one+"/"+nameB, "", 0, 0)
	s.own(one)
	s.seen(one, "open 3", 0, 5)
	s.say("The answer to its decision is lost. It looks.")
	s.listed(one, "in", "out", nameC, nameA, nameB)
	s.failed(recipe.Unknown, -1)
	s.seen(one, released, 1, 5)
	s.say("The answer to its departure is lost. It says it again.")
	s.tell(double.Departed{Claim: 1})
	s.failed(recipe.Unknown, -1)
	s.failed(recipe.NodeExists, 0)
	s.seen(one+"/out", "", 3, 3)
	s.say("The answer to the end is lost. It looks.")
	s.failed(recipe.Unknown, -1)
	s.listedNone(one)
	s.say("The answer to its next arrival is lost, and so was the arrival.")
	s.want(2)
	s.failed(recipe.Unknown, -1)
	s.missing(two + "/_c_00000000-0000-4000-8000-000000000002-party-3-b")
}

func tellSweep(s *telling) {
	s.begin(3)
	s.say("There are older rounds. The first has parties in it; the second was left by the dead, and is deleted; the third is gone by now.")
	s.epoch()
	s.want(1)
	s.listed(at, "round-0000000009", "round-0000000001", "foreign", "round-0000000002", "round-0000000003")
	s.seen(one, released, 1, 3)
	s.seen(two, released, 1, 2)
	s.listed(two+"/out", nameA, nameB)
	s.done(1)
	s.missing("/b/round-0000000003")
}

func tellCrash(s *telling) {
	s.begin(3)
	s.say("A machine made anew is told of the round that the one before was in, and of what is wanted, twice. First the round is followed to its end.")
	s.epoch()
	s.tell(double.Followed{Claim: 1, Round: 1, Names: []string{nameB, nameA, nameC}, Own: nameB})
	ask := s.ask
	s.tell(double.Wanted{Claim: 2, Once: true}, double.Wanted{Claim: 2, Once: true}, double.Departed{Claim: 1})
	s.ask = ask
	s.failed(recipe.NodeExists, 0)
	s.missing(one + "/out")
}

func tellClosingWaiting(s *telling) {
	s.waiting()
	s.tell(recipe.Closing{})
	s.done(0)
}

func tellClosingInside(s *telling) {
	s.inside()
	s.say("It says that it is out, deletes its znode, and does not wait for the others.")
	s.tell(recipe.Closing{})
	s.done(1)
	s.tell(recipe.Removed{Epoch: 1, Ask: s.ask, Path: one + "/" + nameB})
}

func tellClosingReady(s *telling) {
	s.inside()
	s.tell(double.Deferred{Claim: 1, Once: true})
	s.tell(recipe.Closing{})
}

func tellClosingFollowing(s *telling) {
	s.inside()
	s.tell(double.Departed{Claim: 1})
	s.done(1)
	s.tell(recipe.Closing{})
}

func tellClosingLeaving(s *telling) {
	s.leaving()
	s.tell(recipe.Closing{})
}

func tellClosingTallying(s *telling) {
	s.inside()
	s.tell(double.Departed{Claim: 1})
	s.failed(recipe.NodeExists, 0)
	ask := s.ask
	s.tell(recipe.Closing{})
	s.ask = ask
	s.seen(one+"/out", "", 2, 2)
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
	s.tell(recipe.Ensured{Epoch: 1, Ask: s.ask, Code: recipe.Refused, Err: errRights})
	s.say("A claim that stands until it is served takes the instance with it.")
	s.tell(double.Wanted{Claim: 3})
	s.listed(at, "round-0000000001")
	s.tell(recipe.Transacted{Epoch: 1, Ask: s.ask, Code: recipe.Refused, Failed: 1, Err: errRights})
}
