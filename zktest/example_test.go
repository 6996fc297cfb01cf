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

// connect opens a session, over memory, with the i-th server, or whichever is there if no number is
// given. Its events come over the channel.
func connect(server *zktest.Server, i ...int) (*zk.Conn, <-chan zk.Event) {
	return connectFor(server, 10*time.Second, i...)
}

func connectFor(server *zktest.Server, timeout time.Duration, i ...int) (*zk.Conn, <-chan zk.Event) {
	hosts := server.Hosts()
	if len(i) > 0 {
		hosts = hosts[i[0] : i[0]+1]
	}
	hosts = append(hosts, hosts[0]) // the library pauses for a second when it has tried all
	conn, events, err := zk.Connect(hosts, timeout, zk.WithLogger(quiet{}), zk.WithDialer(server.DialTimeout))
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

// present makes a znode, for which an example fails if it can't be made.
func present(conn *zk.Conn, path string, flags int32) string {
	created, err := conn.Create(path, []byte("old"), flags, open)
	if err != nil {
		panic(err)
	}
	return created
}

// exists looks for a znode.
func exists(conn *zk.Conn, path string) bool {
	found, _, err := conn.Exists(path)
	if err != nil {
		panic(err)
	}
	return found
}

// answered reports whether a request has been answered within a while that is long for a server
// that is well.
func answered(done <-chan error) bool {
	select {
	case <-done:
		return true
	case <-time.After(50 * time.Millisecond):
		return false
	}
}

// later makes a znode in the background.
func later(conn *zk.Conn, path string) <-chan error {
	done := make(chan error, 1)
	go func() { // ends with the answer, or with the connection
		_, err := conn.Create(path, nil, 0, open)
		done <- err
	}()
	return done
}

// What does a service do when its session expires? Here: it is told when it reconnects, and its
// ephemerals are gone.
func ExampleServer_Expire() {
	server := serve()
	defer server.Close()
	conn, events := connect(server)
	defer conn.Close()
	present(conn, "/present", zk.FlagEphemeral)

	server.Expire(conn.SessionID())
	await(events, zk.StateExpired)
	fmt.Println("expired")
	await(events, zk.StateHasSession) // the library opens a new one
	fmt.Println(exists(conn, "/present"))
	// Output:
	// expired
	// false
}

// Cut off for longer than its timeout, a client loses its session, and learns of it when the
// network is back.
func ExampleServer_Partition() {
	server := serve(zktest.WithTick(10*time.Millisecond), zktest.WithSessionTimeouts(500*time.Millisecond, time.Minute))
	defer server.Close()
	holder, events := connectFor(server, 500*time.Millisecond)
	defer holder.Close()
	present(holder, "/held", zk.FlagEphemeral)
	other, _ := connect(server)
	defer other.Close()
	_, _, gone, err := other.ExistsW("/held")
	if err != nil {
		panic(err)
	}

	heal := server.Partition(holder.SessionID())
	fmt.Println("to others:", (<-gone).Type)
	heal()
	await(events, zk.StateExpired)
	fmt.Println("to itself: expired")
	// Output:
	// to others: EventNodeDeleted
	// to itself: expired
}

// A server that has lost its leader answers reads as if nothing had happened. Writes wait.
func ExampleServer_Isolate() {
	server := serve()
	defer server.Close()
	conn, _ := connect(server)
	defer conn.Close()

	heal := server.Isolate()
	fmt.Println("a read:", exists(conn, "/zookeeper"))
	done := later(conn, "/a")
	fmt.Println("a write is answered:", answered(done))
	heal()
	fmt.Println("after healing:", <-done)
	// Output:
	// a read: true
	// a write is answered: false
	// after healing: <nil>
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
