package group_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/group"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

const path = "/groups/workers"

// world is a server in memory and virtual time, and the clients on it.
type world struct {
	*testing.T
	server *zktest.Server
}

// inBubble runs a test in virtual time.
func inBubble(t *testing.T, f func(w *world), opts ...zktest.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		opts = append([]zktest.Option{zktest.WithTick(500 * time.Millisecond), zktest.WithSessionTimeouts(time.Second, time.Minute)}, opts...)
		f(&world{t, zktest.Start(t, opts...)})
	})
}

// host is a machine with one session on it.
type host struct {
	*session.Session
	machine zktest.Host
}

func (w *world) host(name string, opts ...session.Option) *host {
	w.Helper()
	machine := w.server.Host(name)
	opts = append([]session.Option{session.WithDialer(machine.Dialer()), session.WithTimeout(6 * time.Second)}, opts...)
	s, err := session.Open(w.Context(), w.server.Hosts(), opts...)
	require.NoError(w, err)
	w.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = s.Close(ctx)
	})
	return &host{s, machine}
}

func (w *world) group(h *host) *group.Group {
	w.Helper()
	g, err := group.New(h.Session, path)
	require.NoError(w, err)
	return g
}

func (w *world) join(h *host, id, data string) *group.Membership {
	w.Helper()
	m, err := w.group(h).Join(group.Member{ID: id, Data: []byte(data)})
	require.NoError(w, err)
	return m
}

// ids are those of a view with their data, as "a=x b=y".
func ids(v group.View) string {
	var all []string
	for _, m := range v.Members {
		all = append(all, m.ID+"="+string(m.Data))
	}
	return strings.Join(all, " ")
}

func (w *world) members(h *host) string {
	w.Helper()
	v, err := w.group(h).Members(w.Context())
	require.NoError(w, err)
	return ids(v)
}

// never fails if the channel delivers, or closes, while everything settles.
func never[T any](w *world, c <-chan T, what string) {
	w.Helper()
	synctest.Wait()
	select {
	case v := <-c:
		w.Fatalf("%s: %v", what, v)
	default:
	}
}

// now receives what is there when everything has settled, without any time passing.
func now[T any](w *world, c <-chan T) T {
	w.Helper()
	synctest.Wait()
	select {
	case v := <-c:
		return v
	default:
		w.Fatalf("not yet\n%s", w.server.Dump())
		panic("unreachable")
	}
}

// within receives in at most d of virtual time.
func within[T any](w *world, d time.Duration, c <-chan T) T {
	w.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(d):
		w.Fatalf("nothing within %v\n%s", d, w.server.Dump())
		panic("unreachable")
	}
}

// drained receives whatever comes until the channel closes, which has to be soon.
func drained[T any](w *world, c <-chan T) {
	w.Helper()
	limit := time.After(time.Minute)
	for {
		select {
		case _, open := <-c:
			if !open {
				return
			}
		case <-limit:
			w.Fatalf("it has not closed\n%s", w.server.Dump())
		}
	}
}
