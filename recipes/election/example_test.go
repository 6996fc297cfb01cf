package election_test

// How elections are used.

import (
	"context"
	"errors"
	"fmt"

	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// serve starts a server inside the example, and connects to it.
func serve() (ctx context.Context, server *zktest.Server, sess *session.Session, done func()) {
	ctx = context.Background()
	server, err := zktest.New()
	if err != nil {
		panic(err)
	}
	sess = dial(ctx, server)
	return ctx, server, sess, func() { sess.Close(ctx); server.Close() }
}

func dial(ctx context.Context, server *zktest.Server) *session.Session {
	sess, err := session.Open(ctx, server.Hosts(), session.WithDialer(server.Dialer()))
	if err != nil {
		panic(err)
	}
	return sess
}

// Two services are candidates. The first leads; when it resigns, the second does.
func Example() {
	ctx, server, one, done := serve()
	defer done()
	two := dial(ctx, server)
	defer two.Close(ctx)

	a, err := election.New(one, "/services/billing/leader", election.WithName("a"))
	if err != nil {
		panic(err)
	}
	b, err := election.New(two, "/services/billing/leader", election.WithName("b"))
	if err != nil {
		panic(err)
	}

	a.Campaign()
	first := <-a.Leader()
	b.Campaign()
	leader, err := b.Current(ctx)
	fmt.Println(leader.Name, "leads", err)

	if err := a.Withdraw(ctx); err != nil {
		panic(err)
	}
	second := <-b.Leader()
	fmt.Println("the token has grown:", second.Token() > first.Token())
	fmt.Println("the first term is over:", first.Err())
	// Output:
	// a leads <nil>
	// the token has grown: true
	// the first term is over: released
}

// Run takes care of the whole life of a leader: it campaigns, calls the function for each term, and
// campaigns again after a loss.
func ExampleElection_Run() {
	ctx, server, sess, done := serve()
	defer done()

	leader, err := election.New(sess, "/services/billing/leader")
	if err != nil {
		panic(err)
	}
	written := errors.New("all bills are written")
	terms := 0
	err = leader.Run(ctx, func(ctx context.Context, term *election.Term) error {
		if terms++; terms == 2 {
			fmt.Println("leading again, by itself")
			return written
		}
		fmt.Println("leading")
		server.Expire(sess.Status().SessionID) // ZooKeeper gives this session up
		<-ctx.Done()
		fmt.Println("lost:", errors.Is(context.Cause(ctx), session.ErrLost))
		return ctx.Err()
	})
	fmt.Println(err)
	// Output:
	// leading
	// lost: true
	// leading again, by itself
	// all bills are written
}

// A term that is lost says so, and why. The next one comes without another call: it is a new value,
// with a larger token.
func ExampleTerm() {
	ctx, _, sess, done := serve()
	defer done()

	leader, err := election.New(sess, "/services/billing/leader")
	if err != nil {
		panic(err)
	}
	leader.Campaign()
	term := <-leader.Leader()
	fmt.Println("leading:", term.Valid())
	if err := sess.Delete(ctx, term.Path(), -1); err != nil { // an administrator steps in
		panic(err)
	}
	<-term.Done()
	fmt.Println("leading:", term.Valid())
	fmt.Println("lost:", errors.Is(term.Err(), session.ErrLost), "deleted:", errors.Is(term.Err(), session.ErrDeleted))
	_, err = term.Commit(ctx, session.SetOp("/services/billing", []byte("late"), -1))
	fmt.Println("refused:", errors.Is(err, session.ErrLost))
	next := <-leader.Leader()
	fmt.Println("leading again under a larger token:", next.Token() > term.Token())
	// Output:
	// leading: true
	// leading: false
	// lost: true deleted: true
	// refused: true
	// leading again under a larger token: true
}

// A client that wants to know the leader need not campaign.
func ExampleElection_Observe() {
	ctx, _, sess, done := serve()
	defer done()

	e, err := election.New(sess, "/services/billing/leader", election.WithName("a"), election.WithData([]byte("10.0.0.7:8080")))
	if err != nil {
		panic(err)
	}
	leaders := e.Observe(ctx)
	fmt.Println("anybody:", (<-leaders).Present)
	term, err := e.Lead(ctx)
	if err != nil {
		panic(err)
	}
	l := <-leaders
	fmt.Printf("%s at %s, ready: %v\n", l.Name, l.Data, l.Ready)
	if err := term.Ready(ctx); err != nil {
		panic(err)
	}
	l = <-leaders
	fmt.Printf("%s at %s, ready: %v\n", l.Name, l.Data, l.Ready)
	// Output:
	// anybody: false
	// a at 10.0.0.7:8080, ready: false
	// a at 10.0.0.7:8080, ready: true
}

// A candidate beside others that run ZooKeeper's Java recipe: its znode has that one's name, and
// contains the host's name and nothing else.
func ExampleWithLayout() {
	ctx, _, s, done := serve()
	defer done()

	e, err := election.New(s, "/election", election.WithLayout(election.LeaderElectionSupport), election.WithName("host-1"))
	if err != nil {
		panic(err)
	}
	defer e.Close(ctx)
	term, err := e.Lead(ctx)
	if err != nil {
		panic(err)
	}
	data, _, err := s.Get(ctx, term.Path())
	fmt.Println(term.Path(), string(data), err)
	// Output: /election/n_0000000000 host-1 <nil>
}
