package take_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/queue/internal/give"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
	"github.com/troupe-go/troupe/recipes/queue/internal/take"
)

const (
	bucket = root + "/ready-0-0000000000"
	guid   = "f81d4fae-7dec-4d0b-a765-00a0c91e000"
)

// name is that of the item with a number.
func name(seq int32) string {
	return place.Item{GUID: guid + fmt.Sprint(seq), Place: place.Place{Seq: seq}}.Name(place.Lane{})
}

func story(t *testing.T, cfg take.Config) *recipetest.Trace {
	cfg.Site, cfg.Dead, cfg.GUID, cfg.Producer = give.Site{Root: root}, root+"/dead", "me-me-me", "me"
	tr := recipetest.NewTrace(t, take.New(cfg))
	tr.Transitions(func(from string, ev machine.Event, to string) {
		if from != to && !takingDeclared(from, eventName(ev), to) {
			t.Errorf("undeclared: {%q, %q, %q}", from, eventName(ev), to)
		}
	})
	return tr
}

// asks are the numbers of the requests among the effects, in their order.
func asks(effects []machine.Effect) []uint64 {
	var all []uint64
	for _, e := range effects {
		switch e := e.(type) {
		case machine.List:
			all = append(all, e.Ask)
		case machine.Read:
			all = append(all, e.Ask)
		case machine.Transact:
			all = append(all, e.Ask)
		case machine.Ensure:
			all = append(all, e.Ask)
		}
	}
	return all
}

// listed begins a story: an epoch, a demand, and a queue with some names in its first bucket.
func listed(tr *recipetest.Trace, want int64, names ...string) []uint64 {
	a := asks(tr.Tell(machine.EpochBegan{Epoch: 1, SessionID: 7, Trusted: true}, take.Demand{Total: want}))
	a = asks(tr.Tell(machine.Listed{Epoch: 1, Ask: a[0], Path: root, Names: []string{"ready-0-0000000000", "receipts", "foreign"}}))
	return asks(tr.Tell(machine.Listed{Epoch: 1, Ask: a[0], Path: bucket, Names: names}))
}

func seen(ask uint64, seq int32, data string, version int32) machine.Seen {
	return machine.Seen{Epoch: 1, Ask: ask, Path: bucket + "/" + name(seq), Exists: true, Data: []byte(data), Stat: machine.Stat{Version: version}}
}

func done(ask uint64, n int) machine.Transacted {
	results := make([]machine.Result, n)
	for i := range results {
		results[i].Stat.Mzxid = 40
	}
	return machine.Transacted{Epoch: 1, Ask: ask, Failed: -1, Results: results}
}

func TestTraceClaimed(t *testing.T) {
	t.Parallel()
	tr := story(t, take.Config{MaxAttempts: 2})
	tr.Say("Two are free, a third is claimed by somebody else: one listing, two reads, one transaction with one claim.")
	a := listed(tr, 2, name(3), name(1), "taken-0000000002-0000000002-else", name(2), "foreign")
	tr.Say("The one in between is somebody else's, so each has a claim of its own.")
	c := asks(tr.Tell(seen(a[0], 1, "one", 0), seen(a[1], 3, "three", 0)))
	tr.Tell(done(c[0], 4))
	tr.Say("An acknowledgement deletes the item with its claim. The next waits until that is answered, and both kinds go together.")
	s := asks(tr.Tell(take.Settle{No: 1, How: take.Ack}))
	tr.Tell(take.Settle{No: 2, How: take.Nack})
	s = asks(tr.Tell(done(s[0], 2)))
	tr.Tell(done(s[0], 2))
	tr.Compare("claimed")
}

func TestTraceQuicker(t *testing.T) {
	t.Parallel()
	tr := story(t, take.Config{})
	tr.Say("Somebody else is quicker with the first: what was picked is taken back, and the bucket listed again.")
	a := listed(tr, 2, name(1), name(2))
	c := asks(tr.Tell(seen(a[0], 1, "one", 0), seen(a[1], 2, "two", 0)))
	l := asks(tr.Tell(machine.Transacted{Epoch: 1, Ask: c[0], Code: machine.BadVersion, Failed: 0}))
	tr.Say("It is claimed; the other was read before, and is claimed at once.")
	c = asks(tr.Tell(machine.Listed{Epoch: 1, Ask: l[0], Path: bucket, Names: []string{name(1), name(2), "taken-0000000001-0000000001-else"}}))
	tr.Say("The answer is lost: the claim is looked for. It stands, so it was carried out.")
	r := asks(tr.Tell(machine.Transacted{Epoch: 1, Ask: c[0], Code: machine.Unknown, Failed: -1}))
	tr.Tell(machine.Seen{Epoch: 1, Ask: r[0], Exists: true, Data: []byte("me-me-me"), Stat: machine.Stat{Owner: 7, Czxid: 41}})
	tr.Say("The acknowledgement's answer is lost with the epoch. The item is there in the next: it was not acknowledged.")
	tr.Tell(take.Settle{No: 1, How: take.Ack})
	tr.Tell(machine.EpochEnded{Epoch: 1})
	r = asks(tr.Tell(machine.EpochBegan{Epoch: 2, SessionID: 8, Trusted: true}))
	tr.Tell(machine.Seen{Epoch: 2, Ask: r[0], Exists: true, Stat: machine.Stat{Version: 1}})
	tr.Compare("quicker")
}

func TestTraceAgain(t *testing.T) {
	t.Parallel()
	tr := story(t, take.Config{MaxAttempts: 2})
	tr.Say("One that was claimed before: it is claimed only after a listing that was asked for when its version was known.")
	a := listed(tr, 1, name(1), name(2))
	l := asks(tr.Tell(seen(a[0], 1, "one", 1)))
	c := asks(tr.Tell(machine.Listed{Epoch: 1, Ask: l[0], Path: bucket, Names: []string{name(1), name(2)}}))
	tr.Tell(done(c[0], 2))
	tr.Say("The second Nack is one too many: it goes to the dead letters in the same transaction.")
	d := asks(tr.Tell(take.Settle{No: 1, How: take.Nack}))
	d = asks(tr.Tell(machine.Listed{Epoch: 1, Ask: d[0], Path: root + "/dead", Code: machine.NoNode}))
	d = asks(tr.Tell(machine.Ensured{Epoch: 1, Ask: d[0]}))
	tr.Tell(done(d[0], 4))
	tr.Compare("again")
}

func TestTraceUnheld(t *testing.T) {
	t.Parallel()
	tr := story(t, take.Config{Visibility: 1000})
	tr.Say("Claimed while the session can't be trusted: delivered again when it can.")
	a := listed(tr, 1, name(1))
	c := asks(tr.Tell(seen(a[0], 1, "one", 0)))
	tr.Tell(done(c[0], 2), take.Unheld{No: 1}, machine.TrustGained{Epoch: 1})
	tr.Say("Its possession is lost: the claim goes.")
	tr.Tell(take.Over{No: 1})
	tr.Compare("unheld")
}

// pack is the name of what is left of five items that were put together.
func pack(tries, first, last int) string {
	return place.Pack{GUID: guid + "0", Tries: tries, First: first, Last: last, Seq: 4}.Name()
}

func TestTracePacked(t *testing.T) {
	t.Parallel()
	tr := story(t, take.Config{MaxAttempts: 2})
	tr.Say("Three of five in one pack: one read, and the three become a pack of their own, claimed once.")
	a := listed(tr, 3, pack(0, 1, 5))
	all := machine.Seen{Epoch: 1, Ask: a[0], Exists: true, Data: []byte("1:a,1:b,1:c,1:d,1:e,")}
	c := asks(tr.Tell(all))
	tr.Tell(done(c[0], 5))
	tr.Say("The one in the middle is given back: what was one pack are three.")
	s := asks(tr.Tell(take.Settle{No: 2, How: take.Nack}))
	tr.Tell(done(s[0], 6))
	tr.Say("It is claimed again, with one from the first pack; nothing is read again.")
	l := asks(tr.Tell(take.Demand{Total: 5}))
	c = asks(tr.Tell(machine.Listed{Epoch: 1, Ask: l[0], Path: bucket, Names: []string{
		pack(0, 4, 5), pack(1, 1, 1), pack(1, 2, 2), pack(1, 3, 3), "taken-0000000004.00001-0000000004.00003-mememe1", "back-0000000004.00002-mememe1",
	}}))
	tr.Tell(done(c[0], 8))
	tr.Say("The answer to an acknowledgement is lost. Its pack is gone, so it was carried out.")
	s = asks(tr.Tell(take.Settle{No: 3, How: take.Ack}))
	l = asks(tr.Tell(machine.Transacted{Epoch: 1, Ask: s[0], Code: machine.Unknown, Failed: -1}))
	tr.Tell(machine.Listed{Epoch: 1, Ask: l[0], Path: bucket, Names: []string{pack(0, 5, 5), pack(1, 1, 1), pack(1, 4, 4), pack(2, 2, 2)}})
	tr.Say("Somebody has removed the first: its acknowledgement finds that out.")
	s = asks(tr.Tell(take.Settle{No: 1, How: take.Ack}))
	l = asks(tr.Tell(machine.Transacted{Epoch: 1, Ask: s[0], Code: machine.NoNode, Failed: 1}))
	tr.Tell(machine.Listed{Epoch: 1, Ask: l[0], Path: bucket, Names: []string{pack(0, 5, 5), pack(1, 4, 4), pack(2, 2, 2)}})
	tr.Say("The one that was given back has had its attempts: it is cut out of its pack, into the dead letters.")
	d := asks(tr.Tell(take.Settle{No: 4, How: take.Nack}))
	d = asks(tr.Tell(machine.Listed{Epoch: 1, Ask: d[0], Path: root + "/dead"}))
	tr.Tell(done(d[0], 5))
	tr.Compare("packed")
}

func TestTraceDeleted(t *testing.T) {
	t.Parallel()
	tr := story(t, take.Config{Idle: 60_000})
	tr.Say("What is held for longer is watched. Somebody deletes the claim: it is lost. Then there is nothing to do.")
	a := listed(tr, 1, name(1))
	c := asks(tr.Tell(seen(a[0], 1, "one", 0)))
	w := wakes(tr.Tell(done(c[0], 2)))
	tr.Tell(machine.Woke{Ask: w[0]})
	claim := bucket + "/taken-0000000001-0000000001-mememe1"
	w = wakes(tr.Tell(machine.Fired{Epoch: 1, Path: claim, Change: machine.Deleted}))
	tr.Tell(machine.Woke{Ask: w[0]})
	tr.Compare("deleted")
}

// wakes are the numbers of the timers among the effects.
func wakes(effects []machine.Effect) []uint64 {
	var all []uint64
	for _, e := range effects {
		if w, ok := e.(machine.Wake); ok {
			all = append(all, w.Ask)
		}
	}
	return all
}

// What ZooKeeper refuses ends the machine, with the reason.
func TestTraceRefused(t *testing.T) {
	t.Parallel()
	refused := errors.New("not authorized")
	for name, play := range map[string]func(tr *recipetest.Trace){
		"listing": func(tr *recipetest.Trace) {
			a := asks(tr.Tell(machine.EpochBegan{Epoch: 1, SessionID: 7, Trusted: true}, take.Demand{Total: 1}))
			tr.Tell(machine.Listed{Epoch: 1, Ask: a[0], Code: machine.Refused, Err: refused})
		},
		"making": func(tr *recipetest.Trace) {
			a := asks(tr.Tell(machine.EpochBegan{Epoch: 1, SessionID: 7, Trusted: true}, take.Demand{Total: 1}))
			a = asks(tr.Tell(machine.Listed{Epoch: 1, Ask: a[0], Code: machine.NoNode}))
			tr.Tell(machine.Ensured{Epoch: 1, Ask: a[0], Code: machine.Refused, Err: refused})
		},
		"read": func(tr *recipetest.Trace) {
			a := listed(tr, 1, name(1))
			tr.Tell(machine.Seen{Epoch: 1, Ask: a[0], Code: machine.Refused, Err: refused})
		},
		"claim": func(tr *recipetest.Trace) {
			a := listed(tr, 1, name(1))
			a = asks(tr.Tell(seen(a[0], 1, "one", 0)))
			tr.Tell(machine.Transacted{Epoch: 1, Ask: a[0], Code: machine.Refused, Failed: -1, Err: refused})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := story(t, take.Config{})
			tr.Say("ZooKeeper refuses a " + name + ".")
			play(tr)
			tr.Compare("refused-" + name)
		})
	}
}

func TestTraceClosing(t *testing.T) {
	t.Parallel()
	tr := story(t, take.Config{})
	tr.Say("Nothing is under way: it ends at once.")
	tr.Tell(machine.EpochBegan{Epoch: 1, SessionID: 7, Trusted: true}, machine.Closing{})
	tr.Compare("closing")
	tr = story(t, take.Config{})
	tr.Say("A claim is under way: what it brings is given back first.")
	a := listed(tr, 1, name(1))
	c := asks(tr.Tell(seen(a[0], 1, "one", 0)))
	tr.Tell(machine.Closing{})
	s := asks(tr.Tell(done(c[0], 2)))
	tr.Tell(done(s[0], 2))
	tr.Compare("closing-late")
}

func TestTraceTakenForGood(t *testing.T) {
	t.Parallel()
	tr := story(t, take.Config{AutoAck: true})
	tr.Say("With AutoAck what is taken out of a pack is gone, and what is not received comes back as a pack of one.")
	a := listed(tr, 2, pack(0, 1, 3))
	e := asks(tr.Tell(machine.Seen{Epoch: 1, Ask: a[0], Exists: true, Data: []byte("1:a,1:b,1:c,")}))
	c := asks(tr.Tell(machine.Ensured{Epoch: 1, Ask: e[0]}))
	tr.Tell(done(c[0], 4))
	tr.Tell(take.Settle{No: 1, How: take.Ack}, machine.Closing{})
	b := asks(tr.Tell(take.Settle{No: 2, How: take.Return}))
	tr.Tell(done(b[0], 2))
	tr.Compare("taken-for-good")
}

func TestTraceGone(t *testing.T) {
	t.Parallel()
	tr := story(t, take.Config{})
	tr.Say("What was to be read is gone: somebody has taken of it, and what is left comes before what is behind it.")
	a := listed(tr, 2, pack(0, 1, 1), name(5))
	l := asks(tr.Tell(machine.Seen{Epoch: 1, Ask: a[0]}))
	tr.Say("What looks like a pack and is none is left where it is.")
	a = asks(tr.Tell(machine.Listed{Epoch: 1, Ask: l[0], Path: bucket, Names: []string{pack(0, 2, 3), name(5)}}))
	l = asks(tr.Tell(machine.Seen{Epoch: 1, Ask: a[0], Exists: true, Data: []byte("rubbish")}))
	tr.Tell(machine.Listed{Epoch: 1, Ask: l[0], Path: bucket, Names: []string{pack(0, 2, 3), name(5)}})
	tr.Compare("gone")
}
