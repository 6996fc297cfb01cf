package zktest_test

import (
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/troupe-go/troupe/zktest"
)

// A server without a test around it, and a client of another library.
func Example() {
	server, err := zktest.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()

	conn, _, err := zk.Connect(server.Servers(), 10*time.Second, zk.WithLogger(quiet{}))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	path, err := conn.Create("/greeting", []byte("hello"), 0, zk.WorldACL(zk.PermAll))
	fmt.Println(path, err)
	data, stat, err := conn.Get("/greeting")
	fmt.Printf("%s, version %d, %v\n", data, stat.Version, err)
	// Output:
	// /greeting <nil>
	// hello, version 0, <nil>
}

// What does a service do when its session expires? Here: it is told when it reconnects, and its ephemerals are gone.
func ExampleServer_Expire() {
	server, err := zktest.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	conn, events, err := zk.Connect(server.Servers(), 10*time.Second, zk.WithLogger(quiet{}))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	if _, err = conn.Create("/present", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
		fmt.Println(err)
		return
	}

	server.Expire(conn.SessionID())
	await(events, zk.StateExpired)
	fmt.Println("expired")
	await(events, zk.StateHasSession) // the library opens a new one
	exists, _, err := conn.Exists("/present")
	fmt.Println(exists, err)
	// Output:
	// expired
	// false <nil>
}

func await(events <-chan zk.Event, state zk.State) {
	for event := range events {
		if event.State == state {
			return
		}
	}
}

// Lose the reply to the next create: the znode is there, and the client doesn't know.
func ExampleServer_Intercept() {
	server, err := zktest.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	remove := server.Intercept(func(q *zktest.Request) zktest.Verdict {
		if q.Op == zktest.OpCreate {
			return zktest.CutAfter
		}
		return zktest.Pass
	})
	conn, events, err := zk.Connect(server.Servers(), 10*time.Second, zk.WithLogger(quiet{}))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()

	await(events, zk.StateHasSession)
	_, err = conn.Create("/unknown", nil, 0, zk.WorldACL(zk.PermAll))
	fmt.Println(err)
	remove()
	await(events, zk.StateHasSession) // the same session, on a new connection
	exists, _, err := conn.Exists("/unknown")
	fmt.Println(exists, err)
	// Output:
	// zk: connection closed
	// true <nil>
}

// One release, one watch event: the journal counts.
func ExampleServer_Journal() {
	server, err := zktest.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	conn, _, err := zk.Connect(server.Servers(), 10*time.Second, zk.WithLogger(quiet{}))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	_, _ = conn.Create("/watched", nil, 0, zk.WorldACL(zk.PermAll))
	if _, _, _, err := conn.GetW("/watched"); err != nil {
		fmt.Println(err)
	}
	_ = conn.Delete("/watched", -1)
	for _, q := range server.Journal() {
		if q.Op != zktest.OpConnect && q.Op != zktest.OpPing {
			fmt.Println(q.Op, q.Path, "fired", q.Fired)
		}
	}
	// Output:
	// create /watched fired 0
	// getData /watched fired 0
	// delete /watched fired 1
}
