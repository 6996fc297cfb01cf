// How transactions are begun, voted on, and taken up again.

package twopc_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// open connects to a server that runs inside the example, as often as it is called.
func open() (ctx context.Context, open func() *session.Session, done func()) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	server, err := zktest.New()
	if err != nil {
		log.Fatal(err)
	}
	return ctx, func() *session.Session {
		s, err := session.Open(ctx, server.Hosts(), session.WithDialer(server.Dialer()))
		if err != nil {
			log.Fatal(err)
		}
		return s
	}, func() { server.Close(); cancel() }
}

func site(s *session.Session, name string) *twopc.Site {
	p, err := twopc.NewSite(s, "/pay/transfers", name)
	if err != nil {
		log.Fatal(err)
	}
	return p
}

// A transfer to which both the ledger and the stock have to agree.
func Example() {
	ctx, connect, done := open()
	defer done()
	s := connect()
	defer s.Close(ctx)

	var acknowledged sync.WaitGroup
	for _, name := range []string{"ledger", "stock"} { // in production, each is a process of its own
		acknowledged.Add(1)
		proposals := site(s, name).Proposals()
		go func() {
			for p := range proposals {
				if p.Voted() == twopc.Undecided { // prepare what p.Payload() says, durably, and then promise
					if err := p.VoteCommit(ctx); err != nil {
						log.Print(err)
					}
				}
				select {
				case <-p.Decided(): // carry it out, or undo it
				case <-p.Done(): // this process is ending: the proposal is offered again to the next one
					return
				}
				if err := p.Ack(ctx); err != nil {
					log.Print(err)
				}
				acknowledged.Done()
			}
		}()
	}

	transfers, err := twopc.NewCoordinator(s, "/pay/transfers")
	if err != nil {
		log.Fatal(err)
	}
	tx, err := transfers.Begin(ctx, "t-4711", []byte("40 bottles"), "ledger", "stock")
	if err != nil {
		log.Fatal(err)
	}
	<-tx.Decided()
	fmt.Println(tx.ID(), tx.Outcome())  // record it, durably, and then
	if err := tx.Ack(ctx); err != nil { // no coordinator recovers it any more
		log.Print(err)
	}
	acknowledged.Wait()
	// Output: t-4711 committed
}

// A site votes and is killed. When it is back, it is offered the transaction again, and learns the
// outcome.
func ExampleSite_Proposals_restart() {
	ctx, connect, done := open()
	defer done()
	s := connect()
	defer s.Close(ctx)
	transfers, err := twopc.NewCoordinator(s, "/pay/transfers")
	if err != nil {
		log.Fatal(err)
	}
	if _, err := transfers.Begin(ctx, "t-4711", []byte("40 bottles"), "ledger", "stock"); err != nil {
		log.Fatal(err)
	}

	killed := connect()
	p := <-site(killed, "ledger").Proposals()
	fmt.Println("ledger promises:", p.VoteCommit(ctx))
	killed.Close(ctx)

	p = <-site(s, "ledger").Proposals()
	fmt.Println("ledger is back, and has voted:", p.Voted())
	fmt.Println("it may not change its mind:", errors.Is(p.VoteAbort(ctx, "no"), twopc.ErrVoted))

	stock := <-site(s, "stock").Proposals()
	fmt.Println("stock refuses:", stock.VoteAbort(ctx, "sold out"))
	<-p.Decided()
	fmt.Println("ledger learns:", p.Outcome(), "–", p.Reason())
	// Output:
	// ledger promises: <nil>
	// ledger is back, and has voted: committed
	// it may not change its mind: true
	// stock refuses: <nil>
	// ledger learns: aborted – sold out
}
