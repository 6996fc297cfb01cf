package fxmodule_test

// What an application with the module looks like.

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"go.uber.org/fx"

	"github.com/troupe-go/troupe/fxmodule"
	_ "github.com/troupe-go/troupe/fxmodule/embedded" // for Config.Embedded
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
)

// Letters are what the service sends. Named instances are asked for as fx has it, by a tag.
type Letters struct {
	fx.In
	Queue *queue.Queue `name:"letters"`
}

// A service with a queue and a pool of workers on it. Embedded runs it without ZooKeeper, for
// development, if the program imports fxmodule/embedded; with Servers instead, nothing else
// changes.
func Example() {
	sent := make(chan string)
	app := fx.New(
		fxmodule.Module,
		fx.Supply(fxmodule.Config{Embedded: true}),
		fxmodule.Queue("letters", "/letters"),
		fxmodule.Consume("letters", 4, func(_ context.Context, i *queue.Item) error { // nil acknowledges, an error gives back
			sent <- string(i.Data())
			return nil
		}),
		fx.Invoke(func(l Letters, lc fx.Lifecycle) {
			lc.Append(fx.StartHook(func(ctx context.Context) error {
				_, err := l.Queue.Put(ctx, []byte("Dear Ann"))
				return err
			}))
		}),
		fx.NopLogger,
	)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := app.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(<-sent)
	fmt.Println(app.Stop(ctx)) // waits for the work in hand

	// Output:
	// Dear Ann
	// <nil>
}

// A function that runs while the process leads. When the term is lost its context ends, and the
// function is run again for the next one.
func ExampleRunLeader() {
	terms, over := make(chan *election.Term), make(chan error, 2)
	var sess *session.Session
	app := fx.New(
		fxmodule.Module,
		fx.Supply(fxmodule.Config{Embedded: true}),
		fxmodule.Election("reports", "/elections/reports"),
		fxmodule.RunLeader("reports", func(ctx context.Context, term *election.Term) error {
			terms <- term
			<-ctx.Done() // the term is over, or the application stops
			over <- context.Cause(ctx)
			return nil // campaign again; an error would shut the application down
		}),
		fx.Populate(&sess),
		fx.NopLogger,
	)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := app.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	term := <-terms
	if err := sess.Delete(ctx, term.Path(), -1); err != nil { // as an administrator may
		fmt.Println(err)
	}
	fmt.Println(<-over)
	fmt.Println("a larger token:", (<-terms).Token() > term.Token())
	fmt.Println(app.Stop(ctx)) // waits for the function, and resigns

	// Output:
	// lost: the znode was deleted
	// a larger token: true
	// <nil>
}

// A function that is called with everything below a path, as it is and after each change.
func ExampleFollowTree() {
	var sess *session.Session
	app := fx.New(
		fxmodule.Module,
		fx.Supply(fxmodule.Config{Embedded: true}),
		fxmodule.FollowTree("routes", "/routes", func(ctx context.Context, t *session.Tree) error {
			for host, n := range t.Below("") {
				fmt.Println(host, "is at", string(n.Data))
			}
			return nil // an error is logged, and the next tree follows
		}, session.WithDepth(1)),
		fx.Populate(&sess),
		fx.NopLogger,
	)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := app.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	if _, err := sess.Create(ctx, "/routes/eu.example", []byte("10.0.0.7:8080"), session.Parents()); err != nil {
		fmt.Println(err)
	}
	for t := range sess.WatchTree(ctx, "/routes", session.WithDepth(1)) { // the same tree
		if _, there := t.At("eu.example"); there {
			break
		}
	}
	fmt.Println(app.Stop(ctx)) // waits for the function

	// Output:
	// eu.example is at 10.0.0.7:8080
	// <nil>
}

// fx provides a function's parameters after the first two.
func ExampleRunLeader_parameters() {
	report := func(ctx context.Context, db *sql.DB, token int64) error { return db.PingContext(ctx) }
	app := fx.Options(
		fxmodule.RunLeader("reports", func(ctx context.Context, term *election.Term, db *sql.DB) error {
			return report(ctx, db, term.Token())
		}),
	)
	_ = app
}

// A second session, and what is on it.
func ExampleOn() {
	europe := fxmodule.Default("eu1:2181", "eu2:2181", "eu3:2181")
	lead := func(ctx context.Context, _ *election.Term) error { <-ctx.Done(); return nil }
	app := fx.Options(
		fxmodule.Module,
		fx.Supply(fxmodule.Default("zk1:2181", "zk2:2181", "zk3:2181")),
		fx.Supply(fx.Annotate(europe, fx.ResultTags(`name:"eu"`))), // a Config
		fxmodule.NamedSession("eu"),
		fxmodule.On("eu", fxmodule.Election("rates", "/rates"), fxmodule.RunLeader("rates", lead)),
	)
	fmt.Println(fx.ValidateApp(app, fx.NopLogger))

	// Output:
	// <nil>
}
