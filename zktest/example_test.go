package zktest_test

// The examples of the package's documentation, with what they have in common: go-zookeeper over
// memory, in real time. A test of your own does better inside testing/synctest.

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

// serve is the beginning of the examples below: a server in memory.
func serve(opts ...zktest.Option) *zktest.Server {
	server, err := zktest.New(opts...)
	if err != nil {
		panic(err)
	}
	return server
}

// connect opens a session over memory. Its events come over the channel.
func connect(server *zktest.Server) (*zk.Conn, <-chan zk.Event) {
	hosts := append(server.Hosts(), server.Hosts()[0]) // the library pauses for a second when it has tried all
	conn, events, err := zk.Connect(hosts, 10*time.Second, zk.WithLogger(quiet{}), zk.WithDialer(server.DialTimeout))
	if err != nil {
		panic(err)
	}
	await(events, zk.StateHasSession)
	return conn, events
}

// await waits for a state of the session.
func await(events <-chan zk.Event, state zk.State) {
	for event := range events {
		if event.State == state && event.Type == zk.EventSession {
			return
		}
	}
}

var open = zk.WorldACL(zk.PermAll)

// exists looks for a znode.
func exists(conn *zk.Conn, path string) bool {
	found, _, err := conn.Exists(path)
	if err != nil {
		panic(err)
	}
	return found
}

// Lose the reply to the next create: the znode is there, and the client doesn't know.
func ExampleServer_Intercept() {
	server := serve()
	defer server.Close()
	conn, events := connect(server)
	defer conn.Close()
	remove := server.Intercept(func(q *zktest.Request) zktest.Verdict {
		if q.Op == zktest.OpCreate {
			return zktest.CutAfter
		}
		return zktest.Pass
	})
	_, err := conn.Create("/unknown", nil, 0, open)
	fmt.Println(err)
	remove()
	await(events, zk.StateHasSession) // the same session, on a new connection
	fmt.Println(exists(conn, "/unknown"))
	// Output:
	// zk: connection closed
	// true
}

// A tree to begin with, and the tree at the end.
func ExampleWithTree() {
	server := serve(zktest.WithTree(`
{"path": "/app/limits", "data": "10"}
{"path": "/app/locks", "kind": "container"}
`))
	defer server.Close()
	conn, _ := connect(server)
	defer conn.Close()
	if _, err := conn.Set("/app/limits", []byte("20"), -1); err != nil {
		fmt.Println(err)
	}
	tree, err := server.Tree()
	fmt.Print(tree, err)
	// Output:
	// {"path":"/app"}
	// {"path":"/app/limits","data":"20"}
	// {"path":"/app/locks","kind":"container"}
	// <nil>
}
