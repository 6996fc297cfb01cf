package barrier_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

const path = "/rounds/batch"

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

func (w *world) double(h *host, parties int, opts ...barrier.Option) *barrier.Double {
	w.Helper()
	d, err := barrier.NewDouble(h.Session, path, parties, opts...)
	require.NoError(w, err)
	return d
}

// team is as many parties as agreed, a session and a machine for each. Their ids are p0, p1, …
type team struct {
	hosts   []*host
	doubles []*barrier.Double
}

func (w *world) team(parties int) *team {
	w.Helper()
	t := &team{}
	for i := range parties {
		h := w.host(fmt.Sprint("h", i))
		t.hosts = append(t.hosts, h)
		t.doubles = append(t.doubles, w.double(h, parties, barrier.WithID(fmt.Sprint("p", i))))
	}
	return t
}

// enter lets everybody in, and checks that all are told the same.
func (t *team) enter(w *world) []*barrier.Passage {
	w.Helper()
	return gather(w, t.doubles...)
}

func gather(w *world, doubles ...*barrier.Double) []*barrier.Passage {
	w.Helper()
	for _, d := range doubles {
		d.Arrive()
	}
	passages := make([]*barrier.Passage, len(doubles))
	for i, d := range doubles {
		passages[i] = within(w, time.Minute, d.Entered())
		require.True(w, passages[i].Valid())
		require.Equal(w, passages[0].Round(), passages[i].Round())
		require.Equal(w, passages[0].Members(), passages[i].Members())
	}
	return passages
}

// asks has a party ask to enter, and tells what it is answered.
func (w *world) asks(d *barrier.Double) <-chan error {
	answer := make(chan error, 1)
	go func() { _, err := d.Enter(w.Context()); answer <- err }()
	return answer
}

// departing is a team of three, of whom the last one is inside and the others have departed.
func (w *world) departing() (*team, []*barrier.Passage) {
	w.Helper()
	t := w.team(3)
	passages := t.enter(w)
	passages[0].Depart()
	passages[1].Depart()
	synctest.Wait()
	return t, passages
}

// held fails if one of those who have departed is told, while everything settles, that the others
// have too.
func held(w *world, why string, passages ...*barrier.Passage) {
	w.Helper()
	for _, p := range passages {
		never(w, p.Left(), why)
	}
}

// leave lets everybody out.
func leave(w *world, passages ...*barrier.Passage) {
	w.Helper()
	for _, p := range passages {
		p.Depart()
	}
	for _, p := range passages {
		within(w, time.Minute, p.Left())
		require.ErrorIs(w, p.Err(), session.ErrReleased)
	}
}

// rounds are the znodes of rounds in the tree.
func (w *world) rounds() []string {
	var found []string
	for line := range strings.Lines(w.server.Dump()) {
		name, ok := strings.CutPrefix(line, path+"/round-")
		if name, _, _ = strings.Cut(name, " "); ok && !strings.Contains(strings.TrimSpace(name), "/") {
			found = append(found, strings.TrimSpace(name))
		}
	}
	return found
}

// standing counts the parties' znodes in the tree.
func (w *world) standing() int {
	n := 0
	for line := range strings.Lines(w.server.Dump()) {
		name, _, _ := strings.Cut(line, " ")
		if strings.HasPrefix(name, path+"/round-") && strings.Contains(name, "-party-") && !strings.Contains(name, "/out/") {
			n++
		}
	}
	return n
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

// closed fails unless the channel has closed when everything has settled, and has nothing more to
// tell.
func closed[T any](w *world, c <-chan T) {
	w.Helper()
	synctest.Wait()
	select {
	case v, open := <-c:
		require.False(w, open, "%v", v)
	default:
		w.Fatal("it has not closed")
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

// slowly lets requests take some time, as on a network, so that virtual time passes.
func (w *world) slowly(seed uint64) func(*zktest.Request) zktest.Verdict {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, 7))
	return func(r *zktest.Request) zktest.Verdict {
		if r.Op == zktest.OpPing || r.Op == zktest.OpConnect {
			return zktest.Pass
		}
		mu.Lock()
		defer mu.Unlock()
		return zktest.Delay(time.Duration(rng.Int64N(int64(20 * time.Millisecond))))
	}
}
