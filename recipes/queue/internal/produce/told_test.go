package produce_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/produce"
)

// story is of one machine, whose requests are answered one after another.
type story struct {
	t       *testing.T
	m       *produce.Machine
	asked   machine.Effect
	said    []machine.Effect
	receipt machine.Seen
}

func (s *story) tell(ev machine.Event) {
	for _, e := range s.m.Step(ev) {
		switch e.(type) {
		case machine.Ensure, machine.Look, machine.Transact:
			s.asked = e
		default:
			s.said = append(s.said, e)
		}
	}
}

func (s *story) put(no uint64, delay int64) {
	s.tell(produce.Put{No: no, GUID: fmt.Sprint("g", no), Items: []produce.Item{{Data: []byte("x"), Delay: delay}}})
}

// looked answers a look: at the queue with this size, or at a bucket with so many children.
func (s *story) looked(size string, children int32) {
	l := s.asked.(machine.Look)
	ev := machine.Looked{Epoch: l.Epoch, Ask: l.Ask}
	for _, q := range l.Queries {
		var a machine.Event = machine.Seen{Exists: true, Stat: machine.Stat{Version: 3, Children: children}}
		switch {
		case q.Children && q.Path == queue.Items():
			a = machine.Listed{Path: q.Path, Names: []string{"0-0000000000"}}
		case q.Children:
			a = machine.Listed{Path: q.Path}
		case q.Path == queue.Receipt("me"):
			a = s.receipt
		case q.Path == queue.Size():
			a = machine.Seen{Exists: size != "", Data: []byte(size), Stat: machine.Stat{Version: 7}}
		case q.Path == queue.Bell():
			a = machine.Seen{Exists: true}
		}
		ev.Answers = append(ev.Answers, a)
	}
	s.tell(ev)
}

func (s *story) ensured(path string, code machine.Code) {
	s.t.Helper()
	e := s.asked.(machine.Ensure)
	require.Equal(s.t, path, e.Path)
	s.tell(machine.Ensured{Epoch: 1, Ask: e.Ask, Code: code})
}

// transacts expects a transaction, and answers it: it is done at an instant, or failed for one of
// its operations.
func (s *story) transacts(code machine.Code, failed int, now int64, want ...string) {
	s.t.Helper()
	tr := s.asked.(machine.Transact)
	var ops []string
	results := make([]machine.Result, len(tr.Ops))
	for n, op := range tr.Ops {
		ops = append(ops, op.String())
		results[n] = machine.Result{Path: op.Path + "0000000000", Stat: machine.Stat{Mtime: now}}
	}
	require.Subset(s.t, ops, want)
	if code == machine.Done {
		s.receipt.Data = tr.Ops[0].Data
		s.receipt.Stat.Version++
	}
	s.tell(machine.Transacted{Epoch: 1, Ask: tr.Ask, Code: code, Failed: failed, Results: results, Err: errPoison})
}

var errPoison = errors.New("poison")

// begin is what every story begins with: the receipt is made before the queue is looked at.
func begin(t *testing.T, size string) *story {
	s := &story{t: t, m: produce.New(produce.Config{Root: queue, GUID: "me"})}
	s.tell(machine.EpochBegan{Epoch: 1, SessionID: 10})
	s.put(1, 0)
	s.ensured(queue.Receipt("me"), machine.Done)
	s.receipt.Exists = true
	s.looked(size, 0)
	return s
}

// A put that does not fit has the leader write, counts, and is carried out if neither the size nor
// what moves has changed since.
func TestWhatDoesNotFitCounts(t *testing.T) {
	t.Parallel()
	s := begin(t, "5 of 5")
	s.transacts(machine.Done, -1, 1000, `set /q/receipts/me v0 ""`, `create /q/receipts/me/alive-a ephemeral ""`)
	s.looked("", 4)
	put := []string{
		`set /q/receipts/me v1 "1 "`, `set /q/size v7 "5 of 5"`, "check /q/items/0-0000000000 v0",
		`create /q/items/0-0000000000/g1-queue- sequential "0000000000 {}\nx"`, `set /q/bell ""`,
	}
	s.transacts(machine.BadVersion, 2, 0, append(put, "check /q/later v3")...)
	s.looked("4 of 5", 0)
	s.transacts(machine.Done, -1, 0, put...)
	require.Equal(t, produce.Settled{No: 1, GUIDs: []string{"g1"}}, s.said[len(s.said)-1])
}

// A queue is full if neither has changed since it was counted; for those that waited before.
func TestFull(t *testing.T) {
	t.Parallel()
	s := begin(t, "5 of 5")
	s.transacts(machine.Done, -1, 1000, `set /q/receipts/me v0 ""`)
	s.put(2, 0)
	for _, code := range []machine.Code{machine.BadVersion, machine.Done} {
		s.looked("", 5)
		s.transacts(code, 2, 0, "check /q/size v7", "check /q/later v3")
		if code == machine.BadVersion {
			s.looked("5 of 5", 0)
		}
	}
	require.Equal(t, []machine.Effect{produce.Settled{No: 1, Err: produce.ErrFull}}, s.said)
	s.transacts(machine.Done, -1, 2000, `set /q/receipts/me v2 ""`) // for the second
}

// A delay begins when the put waits: whoever comes while the servers' clock is read asks again.
func TestDelay(t *testing.T) {
	t.Parallel()
	s := begin(t, "")
	s.put(2, 5000)
	s.transacts(machine.Done, -1, 0, `set /q/receipts/me v0 "1 "`)
	s.put(3, 5000)
	s.transacts(machine.Done, -1, 10_000, `set /q/receipts/me v1 "1 "`)
	s.transacts(machine.Done, -1, 20_000, `set /q/receipts/me v2 "1 "`)
	s.transacts(machine.Done, -1, 0, `create /q/later/14336-0000000000/15000-g2- sequential "0000000000 {}\nx"`,
		`create /q/later/24576-0000000000/25000-g3- sequential "0000000000 {}\nx"`)
}

// A transaction is refused, and nobody says for which put: each is sent alone.
func TestRefused(t *testing.T) {
	t.Parallel()
	s := begin(t, "")
	s.put(2, 0)
	s.put(3, 0)
	for _, receipt := range []string{"1 ", "2 3 ", "2 ", "3 "} {
		s.transacts(machine.Refused, -1, 0, fmt.Sprintf("set /q/receipts/me v0 %q", receipt))
	}
	require.Contains(t, s.said, produce.Settled{No: 2, Err: errPoison})
}

// Somebody deletes the queue while it is made: what could not be made is asked for again.
func TestDeletedWhileItIsMade(t *testing.T) {
	t.Parallel()
	s := begin(t, "")
	s.transacts(machine.NoNode, len(s.asked.(machine.Transact).Ops)-1, 0, `set /q/bell ""`)
	s.ensured(queue.Items(), machine.NoNode)
	s.ensured(queue.Items(), machine.Done)
	s.ensured(queue.Claims(), machine.Done)
	require.Equal(t, []machine.Effect{produce.Sending{Nos: []uint64{1}}}, s.said, "and nothing is answered")
}

// An answer is lost, and the receipt does not tell that the put was carried out: before it is
// answered the receipt is written again, so that it can't be carried out any more.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	s := begin(t, "")
	s.transacts(machine.Unknown, -1, 0, `set /q/receipts/me v0 "1 "`)
	s.looked("", 0)
	s.transacts(machine.BadVersion, 0, 0, `set /q/receipts/me v0 ""`) // it has turned up
	s.receipt.Data, s.receipt.Stat.Version = []byte("1 "), 1
	s.looked("", 0)
	s.transacts(machine.Done, -1, 0, `set /q/receipts/me v1 "1 "`)
	require.Equal(t, produce.Settled{No: 1, GUIDs: []string{"g1"}}, s.said[len(s.said)-1])
}
