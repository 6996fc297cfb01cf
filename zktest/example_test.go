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

// serve is the beginning of the examples below: a server in memory. They run in real time; a test
// of your own does better inside testing/synctest.
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
	return connectWith(server, inMemory(server), 10*time.Second, i...)
}

func connectWith(server *zktest.Server, dial zk.Dialer, timeout time.Duration, i ...int) (*zk.Conn, <-chan zk.Event) {
	hosts := server.Hosts()
	if len(i) > 0 {
		hosts = hosts[i[0] : i[0]+1]
	}
	hosts = append(hosts, hosts[0]) // the library pauses for a second when it has tried all
	conn, events, err := zk.Connect(hosts, timeout, zk.WithLogger(quiet{}), zk.WithDialer(dial))
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
