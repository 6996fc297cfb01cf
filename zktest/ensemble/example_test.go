package ensemble_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// The leader of three servers dies: the session goes on with the other two. In a test, Start does
// without the errors and without Close.
func ExampleNew() {
	servers, err := ensemble.New(3)
	if err != nil {
		log.Fatal(err) // what is missing, and how to get it
	}
	defer servers.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	sess, err := session.Open(ctx, servers.Servers())
	if err != nil {
		log.Fatal(err)
	}
	defer sess.Close(ctx)

	leader, err := servers.AwaitLeader(ctx)
	if err != nil {
		log.Fatal(err)
	}
	servers.Kill(leader)
	names, _, err := sess.Children(ctx, "/") // a read is repeated until a server answers
	fmt.Println(names, err)
	if err := servers.Restart(leader); err != nil {
		log.Fatal(err)
	}
}
