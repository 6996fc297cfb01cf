package session_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// serve starts a server for an example.
func serve() (servers []string, stop func()) {
	srv, err := zktest.New()
	if err != nil {
		panic(err)
	}
	return srv.Servers(), func() { _ = srv.Close() }
}

func ExampleOpen() {
	servers, stop := serve()
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()

	s, err := session.Open(ctx, servers, session.WithNamespace("/billing"), session.WithTimeout(6*time.Second))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = s.Close(ctx) }()

	path, err := s.Create(ctx, "/rates/eur", []byte("1.09"), session.Parents())
	fmt.Println(path, err)
	_, err = s.Create(ctx, "/rates/eur", nil)
	fmt.Println(errors.Is(err, session.ErrNodeExists))
	data, stat, err := s.Get(ctx, "/rates/eur")
	fmt.Println(string(data), stat.Version, err)
	fmt.Println(s.Status().State, s.Status().Epoch)
	// Output:
	// /rates/eur <nil>
	// true
	// 1.09 0 <nil>
	// connected 1
}

func ExampleSession_WatchData() {
	servers, stop := serve()
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	s, err := session.Open(ctx, servers)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = s.Close(ctx) }()

	states := s.WatchData(ctx, "/switch") // a subscription: taken once, before the loop
	for state := range states {
		fmt.Printf("%v %q\n", state.Exists, state.Bytes)
		switch {
		case !state.Exists:
			_, err = s.Create(ctx, "/switch", []byte("on"))
		case string(state.Bytes) == "on":
			_, err = s.Set(ctx, "/switch", []byte("off"), state.Stat.Version)
		default:
			return
		}
		if err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// false ""
	// true "on"
	// true "off"
}

// A new configuration: many writes, and then a znode that tells the others that it is whole.
func ExampleSession_Pipeline() {
	servers, stop := serve()
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	s, err := session.Open(ctx, servers)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = s.Close(ctx) }()

	ops := []session.Op{session.CreateOp("/config", nil)}
	for i := range 100 {
		ops = append(ops, session.CreateOp(fmt.Sprintf("/config/%03d", i), []byte("value")))
	}
	if _, err := s.Pipeline(ctx, ops...); err != nil {
		fmt.Println(err) // later writes were carried out nevertheless, so nothing says "ready"
		return
	}
	ready, err := s.Create(ctx, "/config/ready", nil)
	fmt.Println(ready, err)
	// Output:
	// /config/ready <nil>
}

// A write whose answer is lost was carried out, or it was not. The session says so, and has made
// sure that a read tells which.
func ExampleErrUnknownOutcome() {
	srv, err := zktest.New()
	if err != nil {
		panic(err)
	}
	defer func() { _ = srv.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	s, err := session.Open(ctx, srv.Servers())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = s.Close(ctx) }()

	srv.Intercept(func(r *zktest.Request) zktest.Verdict {
		if r.Op == zktest.OpCreate {
			return zktest.CutAfter // carried out, and the connection goes before the answer comes
		}
		return zktest.Pass
	})
	_, err = s.Create(ctx, "/order-17", nil)
	if errors.Is(err, session.ErrUnknownOutcome) {
		_, exists, err := s.Exists(ctx, "/order-17")
		fmt.Println("created after all:", exists, err)
	}
	// Output:
	// created after all: true <nil>
}

func ExampleWithEvents() {
	servers, stop := serve()
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()

	s, err := session.Open(ctx, servers, session.WithEvents(func(_ *session.Session, ev session.Event) {
		if ev.Kind == session.EventConnected || ev.Kind == session.EventLost {
			fmt.Println(ev.Kind, ev.Recipe, ev.Path, ev.Err)
		}
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Close(ctx))
	// Unordered output:
	// connected   <nil>
	// <nil>
}
