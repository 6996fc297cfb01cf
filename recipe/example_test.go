package recipe_test

// A recipe with nothing but its machine.

import (
	"context"
	"crypto/rand"
	"fmt"
	"log"
	"time"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// first finds out whether it is the first: the one that creates the znode.
type first struct {
	path, id string
	requests machine.Requests[string]
}

// decided is an effect of the recipe's own.
type decided struct{ first bool }

func (f *first) Step(ev machine.Event) []machine.Effect {
	if _, ok := f.requests.Accept(ev); !ok { // an answer to an earlier ZooKeeper session
		return f.requests.Flush()
	}
	switch ev := ev.(type) {
	case machine.EpochBegan: // there is a ZooKeeper session, the first one or another
		f.requests.Begin(ev.Epoch)
		f.create()
	case machine.EpochEnded:
		f.requests.End()
	case machine.Transacted:
		switch ev.Code {
		case machine.Done, machine.NodeExists, machine.Unknown: // a read tells: Unknown is a lost answer
			f.requests.Ask(machine.Read{Path: f.path}, "read")
		default:
			f.requests.Emit(machine.Stop{Err: ev.Err})
		}
	case machine.Seen:
		switch {
		case ev.Code != machine.Done:
			f.requests.Emit(machine.Stop{Err: ev.Err})
		case !ev.Exists: // the create was lost on its way, or the znode was deleted since
			f.create()
		default:
			f.requests.Emit(decided{first: string(ev.Data) == f.id})
		}
	case machine.Closing:
		f.requests.Emit(machine.Stop{})
	}
	return f.requests.Flush()
}

func (f *first) create() {
	op := machine.Op{Do: machine.Create, Path: f.path, Data: []byte(f.id)}
	f.requests.Ask(machine.Transact{Ops: []machine.Op{op}}, "create")
}

// One of many processes does something once. A recipe for others has a handle around the host:
// see docs/writing-a-recipe.md.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	server, err := zktest.New() // a server that runs inside the example
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	s, err := session.Open(ctx, server.Hosts(), session.WithDialer(server.Dialer()))
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close(ctx)

	for range 2 { // in life, two processes
		const path = "/schema-created"
		id, result := rand.Text(), make(chan bool, 1)
		host, err := recipe.New(recipe.Config{
			Session: s, Kind: "first", Path: path,
			Machine: func() machine.Machine { return &first{path: path, id: id} }, // again after a crash
			Perform: func(e machine.Effect) { // must not block, and is called again in the next ZooKeeper session
				select {
				case result <- e.(decided).first:
				default:
				}
			},
		})
		if err != nil {
			log.Fatal(err)
		}
		select {
		case won := <-result:
			fmt.Println("the first:", won)
		case <-host.Done():
			log.Fatal(host.Err())
		}
		if err := host.Close(ctx); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// the first: true
	// the first: false
}
