package consume_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/consume"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

// C: the listing of those that live is older than that of the journals.
func TestAliveOlderThanJournals(t *testing.T) {
	h := newDriver(t, consume.Config{Stream: true, Workers: 1})
	h.first(1)
	changed := machine.Fired{Epoch: 1, Path: "/q/work/alive", Change: machine.ChildrenChanged}
	h.step(changed)
	h.listed("Path:/q/journal", 0, "me-1")
	// those that live are listed; the answer is under way when there is another change
	alive := h.take("Path:/q/work/alive").(machine.List)
	h.step(changed)
	h.step(machine.Listed{Epoch: 1, Ask: alive.Ask, Path: alive.Path, Names: []string{"me-1"}})
	// "you" is born, claims; the event of /q/work/alive is on its way
	h.listed("Path:/q/journal", 0, "me-1", "you-1")
	if h.has("Path:/q/journal/you-1") {
		t.Fatal("it takes a living consumer's journal for a dead one's")
	}
}

// B: the cursor was read again while a claim is under way.
func TestCursorVersion(t *testing.T) {
	h := newDriver(t, consume.Config{Stream: true, Workers: 8})
	h.first(1)
	h.listed("/q/work Watch", 0, "ready-0-0000000000", "returned", "alive")
	h.listed("/q/work/returned", 0)
	h.seen("/q/cursor", 5, "")
	h.listed("ready-0-0000000000", 0, znodeName(0, 1))
	// the claim is carried out (cursor v6); its answer is lost; the journal can't be read for a
	// moment
	e := h.take("set /q/cursor").(machine.Transact)
	h.step(machine.Transacted{Epoch: 1, Ask: e.Ask, Failed: -1, Code: machine.Unknown})
	r := h.take("Path:/q/journal/me-1 ").(machine.Read)
	if r.Path != "/q/journal/me-1" {
		t.Fatal(r.Path)
	}
	h.step(machine.Seen{Epoch: 1, Ask: r.Ask, Path: r.Path, Code: machine.Refused, Err: fmt.Errorf("refused")})
	// left the line. After the pause it stands in line again
	w := h.take("Try:1").(machine.Wake)
	h.step(machine.Woke{Ask: w.Ask})
	h.first(2)
	h.listed("/q/work Watch", 0, "ready-0-0000000000", "returned", "alive")
	h.listed("/q/work/returned", 0)
	// meanwhile another one has claimed 1 and 2: cursor v8
	h.seen("/q/cursor", 8, "ready-0-0000000000 2")
	h.seen("/q/journal/me-1", 1, "1\nready-0-0000000000:0 1")
	for h.has("Path:/q/work/ready-0-0000000000 ") {
		h.listed("Path:/q/work/ready-0-0000000000 ", 0, znodeName(0, 1), znodeName(1, 1), znodeName(2, 1), znodeName(3, 1))
	}
	if h.has("set /q/cursor") {
		t.Fatalf("claims with %+v", h.take("set /q/cursor"))
	}
}

// A: the listing that finds a claimed znode is older than the claim.
func TestFinding(t *testing.T) {
	b := place.Bucket{}
	one := layout.Returned{Entry: layout.Whole(b, layout.Znode{GUID: "00000000-0000-4000-8000-000000000000", Count: 1, Seq: 0})}
	pack := layout.Znode{GUID: "00000001-0000-4000-8000-000000000000", Count: 3, Seq: 1}
	part := pack.Alone(1)
	two := layout.Returned{Entry: layout.Whole(b, part)}
	h := newDriver(t, consume.Config{Stream: true, Workers: 8})
	h.first(1)
	h.listed("/q/work Watch", 0, "ready-0-0000000000", "returned", "alive")
	h.listed("Path:/q/work/returned", 0, one.Name())
	h.seen("/q/cursor", 5, "ready-0-0000000000 1")
	h.listed("Path:/q/work/ready-0-0000000000 Watch:true", 0, znodeName(0, 1), pack.Name())
	h.done("delete /q/work/returned/"+one.Name(), 1)
	// the listing that finds it is carried out now
	h.take("Path:/q/work/ready-0-0000000000 Watch:false") // the sweep's
	found := h.take("Path:/q/work/ready-0-0000000000 Watch:false").(machine.List)
	// then somebody returns the second item of the pack
	h.step(machine.Fired{Epoch: 1, Path: "/q/work/returned"})
	h.listed("Path:/q/work/returned", 0, two.Name())
	h.done("delete /q/work/returned/"+two.Name(), 2)
	// now the answer of the listing
	h.step(machine.Listed{Epoch: 1, Ask: found.Ask, Path: found.Path, Names: []string{znodeName(0, 1), pack.Name()}})
	for _, e := range h.pending {
		if e, ok := e.(machine.Transact); ok {
			for _, op := range e.Ops {
				if op.Path == "/q/journal/me-1" && !strings.Contains(string(op.Data), two.Position.String()) {
					t.Fatalf("the claim of %s is given up: %s", two.Position, op.Data)
				}
			}
		}
	}
}

// An acknowledgement in the transaction that ends the consumer is answered.
func TestAckWithTheEnd(t *testing.T) {
	h := newDriver(t, consume.Config{Stream: true, Workers: 2})
	claimOne(h, 2)
	h.step(consume.Received{No: 1})
	h.step(consume.Received{No: 2})
	h.step(consume.Settle{No: 1, How: consume.Ack})
	h.step(consume.Settle{No: 2, How: consume.Ack})
	h.step(machine.Closing{})
	h.done("delete /q/work/ready-0-0000000000", 3)
	h.done("delete /q/work/ready-0-0000000000", 4)
	settled := 0
	for _, e := range h.out {
		if _, ok := e.(consume.Settled); ok {
			settled++
		}
	}
	if settled != 2 {
		t.Fatalf("%d are answered", settled)
	}
}

// Closing ends though an acknowledgement is refused.
func TestClosingAfterRefusal(t *testing.T) {
	h := newDriver(t, consume.Config{Stream: true, Workers: 1})
	claimOne(h, 1)
	h.step(consume.Received{No: 1})
	h.step(consume.Settle{No: 1, How: consume.Ack})
	h.step(machine.Closing{})
	h.failed("delete /q/work/ready-0-0000000000", -1, machine.Refused)
	for range 10 {
		if h.has("Try:") {
			w := h.take("Try:").(machine.Wake)
			h.step(machine.Woke{Ask: w.Ask})
		}
	}
	t.Logf("pending: %+v", h.pending)
	if h.has("delete /q/journal/me-1") || h.has("create /q/work/returned") {
		return
	}
	t.Fatal("it never ends")
}

// A removed item of a delayed pack is not moved.
func TestMoveAfterRemove(t *testing.T) {
	h := newDriver(t, consume.Config{Stream: true, Workers: 4})
	h.first(1)
	lane := place.SlotOf(500, 0)
	bucket := place.Bucket{Lane: lane}
	d := layout.Delayed{Znode: layout.Znode{GUID: "00000000-0000-4000-8000-000000000000", Count: 2}, Due: 500}
	h.listed("/q/work Watch", 0, bucket.Name(), "returned", "alive")
	h.listed("/q/work/returned", 0)
	h.seen("/q/cursor", 0, "")
	h.listed(bucket.Name(), 0, d.Name())
	h.done("set /q/journal/me-1", 1)  // the clock: 1000
	h.seen(d.Name(), 0, znodeData(2)) // then somebody removes the first: version 1
	e := h.take("delete /q/work/later").(machine.Transact)
	if e.Ops[0].Version == machine.Any {
		t.Fatalf("moves what it has not read: %v", e.Ops)
	}
}

// What nobody waits for any more goes back.
func TestHoard(t *testing.T) {
	h := newDriver(t, consume.Config{Idle: 1000})
	h.step(consume.Demand{Total: 1})
	h.first(1)
	h.listed("/q/work Watch", 0, "ready-0-0000000000", "returned", "alive")
	h.listed("/q/work/returned", 0)
	h.seen("/q/cursor", 0, "")
	h.listed("ready-0-0000000000 Watch:true", 0, znodeName(0, 3))
	h.done("set /q/cursor", 1)
	e := h.take("Path:/q/work/ready-0-0000000000/").(machine.Read)
	h.step(machine.Seen{Epoch: e.Epoch, Ask: e.Ask, Path: e.Path, Exists: true, Data: []byte(znodeData(3))})
	h.step(consume.Settle{No: 1, How: consume.Ack})
	h.done("set /q/journal/me-1", 2)
	for range 10 { // one of them is for what nobody asks for
		if !h.has("machine.Wake") {
			break
		}
		w := h.take("machine.Wake").(machine.Wake)
		h.step(machine.Woke{Ask: w.Ask})
	}
	h.done("delete /q/line", 3) // it had no room for a while
	if !h.has("returned/") {
		t.Fatal("two items stay with a consumer that nobody asks for anything")
	}
}

// A child below an item does not keep the machine busy.
func TestNotEmptySpins(t *testing.T) {
	h := newDriver(t, consume.Config{Stream: true, Workers: 1})
	claimOne(h, 1)
	h.step(consume.Received{No: 1})
	h.step(consume.Settle{No: 1, How: consume.Ack})
	for n := range 20 {
		if !h.has("delete /q/work/ready-0-0000000000") {
			return
		}
		if n == 19 {
			t.Fatal("it is at it again and again, without a pause")
		}
		h.failed("delete /q/work/ready-0-0000000000", 0, machine.NotEmpty)
		if h.has("Path:/q/work/ready-0-0000000000/") {
			e := h.take("Path:/q/work/ready-0-0000000000/").(machine.Read)
			h.step(machine.Seen{Epoch: e.Epoch, Ask: e.Ask, Path: e.Path, Exists: true, Data: []byte(znodeData(1))})
		}
	}
}

// A bucket that may not be deleted does not keep the machine busy.
func TestRefusedDeletionSpins(t *testing.T) {
	h := newDriver(t, consume.Config{Stream: true, Workers: 4})
	h.first(1)
	bucket := place.Bucket{Lane: place.SlotOf(500, 0)}
	h.listed("/q/work Watch", 0, bucket.Name(), "returned", "alive")
	h.listed("/q/work/returned", 0)
	h.seen("/q/cursor", 0, "")
	h.listed(bucket.Name()+" Watch:true", 0)
	e := h.take("set /q/journal/me-1").(machine.Transact)
	h.step(machine.Transacted{Epoch: 1, Ask: e.Ask, Failed: -1, Results: []machine.Result{{Stat: machine.Stat{Version: 1, Mtime: 1_000_000}}}})
	for n := range 20 {
		if h.has(bucket.Name() + " Watch:true") {
			h.listed(bucket.Name()+" Watch:true", 0)
		}
		if !h.has("delete /q/work/later") {
			return
		}
		if n == 19 {
			t.Fatal("it is at it again and again, without a pause")
		}
		h.failed("delete /q/work/later", 0, machine.Refused)
	}
}

// A journal one entry of which is there already is inherited all the same.
func TestInheritNodeExists(t *testing.T) {
	h := newDriver(t, consume.Config{Stream: true, Workers: 4})
	h.first(1)
	h.step(machine.Fired{Epoch: 1, Path: "/q/work/alive", Change: machine.ChildrenChanged})
	h.listed("Path:/q/journal ", 0, "me-1", "you-1")
	h.listed("Path:/q/work/alive ", 0, "me-1")
	for n := range 5 {
		h.seen("Path:/q/journal/you-1", 3, "3\nready-0-0000000000:0 1\nready-0-0000000000:1 1")
		if s := fmt.Sprint(h.pending); n > 0 && !strings.Contains(s, "returned/ready-0-0000000000:0:1:0") {
			return
		}
		h.failed("delete /q/journal/you-1", 1, machine.NodeExists)
		if h.has("Try:") {
			h.step(machine.Woke{Ask: h.take("Try:").(machine.Wake).Ask})
		}
	}
	t.Fatal("it is never inherited")
}

// What became strange does not keep a consumer from closing.
func TestStrangeAndStale(t *testing.T) {
	h := newDriver(t, consume.Config{Stream: true, Workers: 1})
	claimOne(h, 1)
	h.step(consume.Received{No: 1})
	h.step(consume.Settle{No: 1, How: consume.Ack})
	h.failed("delete /q/work/ready-0-0000000000", 0, machine.BadVersion)
	e := h.take("Path:/q/work/ready-0-0000000000/").(machine.Read)
	h.step(machine.Seen{Epoch: e.Epoch, Ask: e.Ask, Path: e.Path, Exists: true, Data: []byte("x"), Stat: machine.Stat{Version: 1}})
	h.step(machine.Closing{})
	h.done("set /q/journal/me-1", 2)
	for range 5 {
		if h.has("machine.Wake") {
			h.step(machine.Woke{Ask: h.take("machine.Wake").(machine.Wake).Ask})
		}
	}
	if !h.has("journal/me-1 v") {
		t.Fatalf("it never ends: %+v", h.pending)
	}
}
