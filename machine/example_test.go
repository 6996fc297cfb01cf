package machine_test

// A machine with Requests.

import (
	"fmt"

	"github.com/troupe-go/troupe/machine"
)

// purpose is the purpose of a request: its key.
type purpose string

const (
	creating purpose = "creating"
	reading  purpose = "reading"
)

// flag keeps an ephemeral znode at a path.
type flag struct {
	path     string
	requests machine.Requests[purpose]
}

func (f *flag) Step(ev machine.Event) []machine.Effect {
	key, ok := f.requests.Accept(ev)
	if !ok {
		return nil
	}
	switch ev := ev.(type) {
	case machine.EpochBegan:
		f.requests.Begin(ev.Epoch)
		create := machine.Op{Do: machine.Create, Path: f.path, Ephemeral: true}
		f.requests.Ask(machine.Transact{Ops: []machine.Op{create}}, creating)
	case machine.EpochEnded:
		f.requests.End()
	case machine.Transacted:
		fmt.Println("answered:", key)
		f.requests.Ask(machine.Read{Path: f.path, Watch: true}, reading)
	case machine.Seen:
		fmt.Println("answered:", key)
	}
	return f.requests.Flush()
}

// A machine passes every event to Accept first. Void events stop there, and an answer comes with
// the key of its request.
func ExampleRequests() {
	f := &flag{path: "/flag"}
	for _, ev := range []machine.Event{
		machine.EpochBegan{Epoch: 1},
		machine.EpochEnded{Epoch: 1},
		machine.EpochBegan{Epoch: 2},
		machine.Transacted{Epoch: 1, Ask: 1}, // too late
		machine.Transacted{Epoch: 2, Ask: 2},
		machine.Seen{Epoch: 2, Ask: 3, Path: "/flag", Exists: true},
	} {
		for _, e := range f.Step(ev) {
			fmt.Printf("%T%+v\n", e, e)
		}
	}
	fmt.Println("reading:", f.requests.Pending(reading))
	// Output:
	// machine.Transact{Epoch:1 Ask:1 Ops:[create /flag ephemeral ""]}
	// machine.Transact{Epoch:2 Ask:2 Ops:[create /flag ephemeral ""]}
	// answered: creating
	// machine.Read{Epoch:2 Ask:3 Path:/flag Watch:true SameSession:false}
	// answered: reading
	// reading: false
}
