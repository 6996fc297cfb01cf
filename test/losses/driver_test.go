// Package losses has one table: the kinds of possession and the ways to lose one, in virtual time,
// with the exact instants.
//
//	driver_test.go   a contender of any kind, and the duel of two
//	kinds_test.go    the kinds
//	losses_test.go   faults that end what is held
//	keeps_test.go    faults that end nothing, or strike a waiter; what is learned after a loss of data
//	cycle_test.go    lost requests, replies and actors at any moment; a leader that was deposed
//	history_test.go  histories under random faults, checked by porcupine
//	random_test.go   many locks of few sessions under random faults
//	real_test.go     three real servers: cut off, deposed, with late writes
package losses_test

import (
	"context"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/crash"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestMain(m *testing.M) { tier.Main(m) }

// world is a bubble with contenders, of which one at a time may hold. The words B05 and so on in
// this package are the numbers of known failures of other libraries: see decision 6.
type world struct {
	*bubble.World
	mu      sync.Mutex
	granted []possession
	taken   bool // ZooKeeper has taken the possession away: a rival may be granted before the holder is told
}

func inBubble(t *testing.T, f func(w *world), opts ...zktest.Option) {
	t.Helper()
	bubble.Run(t, func(w *bubble.World) { f(&world{World: w}) }, bubble.Brisk(opts...)...)
}

// contender wants one possession, again and again.
type contender struct {
	host    *bubble.Host
	won     chan *grant
	want    func()                          // states the intent, or calls (a kind that asks)
	stop    func(ctx context.Context) error // gives up what it wants and what it has
	close   func(ctx context.Context) error
	crash   func()
	refused chan error  // errors of calls; nil for a contender that does not call
	ended   interface { // the instance
		Done() <-chan struct{}
		Err() error
	}
}

// possession is what all kinds have in common.
type possession interface {
	Path() string
	Token() int64
	Valid() bool
	Done() <-chan struct{}
	Err() error
	Context() context.Context
	Commit(ctx context.Context, ops ...session.Op) ([]session.Result, error)
}

// grant is a possession, and when its owner was told of it.
type grant struct {
	possession // nil for what only comes after another one's
	at         time.Time
}

// recordGrant records that a contender was granted something. Another contender that still holds is
// an error of the test.
func (w *world) recordGrant(c *contender, p possession) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, before := range w.granted {
		if before.Err() == nil && !w.taken {
			w.Errorf("a contender is granted what is still held by %s", before.Path())
		}
	}
	if p != nil {
		w.granted = append(w.granted, p)
	}
	c.won <- &grant{p, time.Now()}
}

// forward records what a channel delivers, at once.
func forward[P possession](w *world, c *contender, from <-chan P) {
	go func() { // ends with the test, or with the channel
		for {
			select {
			case p, open := <-from:
				if !open {
					return
				}
				w.recordGrant(c, p)
			case <-w.Context().Done():
				return
			}
		}
	}()
}

// calls has a contender want by a call, and give up by releasing what the call returned.
func calls[P interface {
	possession
	Release(ctx context.Context) error
}](w *world, c *contender, call func(ctx context.Context) (P, error)) *contender {
	c.refused = make(chan error, 1)
	c.want = func() {
		go func() { // ends with the test
			p, err := call(w.Context())
			if err != nil {
				c.refused <- err
				return
			}
			c.stop = p.Release
			w.recordGrant(c, p)
		}()
	}
	return c
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// field returns the address of a field of a struct, or of one in a field of it, which need not be
// exported: a test of all kinds can use no package's export_test.go.
func field(of any, names ...string) any {
	v := reflect.ValueOf(of).Elem()
	for _, name := range names {
		if v = v.FieldByName(name); v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
	}
	return reflect.NewAt(v.Type(), v.Addr().UnsafePointer()).Interface()
}

// panics has the actor of an instance panic.
func panics(of any, names ...string) func() {
	return func() { crash.Instance(field(of, names...), "a bug") }
}

// sleeps lets a machine find that it has slept: its wall clock has gone on, and nothing else.
func sleeps(s *session.Session, d time.Duration) {
	field(s, "clock", "wallSlip").(*atomic.Int64).Add(int64(d))
}

// duel is a holder, a rival that waits for the holder's possession, and a fault of the holder.
type duel struct {
	*world
	kind  kind
	a, b  *contender // the holder and the rival
	admin *bubble.Host
	loser *bubble.Host
	held  *grant // a's

	cut   time.Time // when the fault struck
	until time.Time // until when a's session was trusted at cut
	id    int64     // of a's session at cut
	lapse time.Time // when the server would end that session, as it seemed at the end of the possession
}

// takes has ZooKeeper take a possession away from its holder.
func (w *world) takes(take func()) func() {
	w.mu.Lock()
	w.taken = true
	w.mu.Unlock()
	take()
	return nothing
}

func nothing() {}

// begin makes a duel. The holder holds, the rival waits, and after pause the fault may strike.
func (w *world) begin(k kind, server int, pause time.Duration, opts ...session.Option) *duel {
	w.Helper()
	on := func(name string, i int, opts ...session.Option) *bubble.Host {
		return w.HostOn(name, w.Server.Hosts()[i:i+1], opts...)
	}
	privileged := session.WithAuth("digest", []byte("user:secret"))
	d := &duel{world: w, kind: k, admin: on("admin", server, privileged)}
	d.a, d.b = k.one(w, on("a", 0, opts...)), k.rival(w, on("b", server, privileged))
	d.a.want()
	d.held = bubble.Within(d, time.Minute, d.a.won)
	time.Sleep(5 * time.Millisecond) // until it reads its znode
	synctest.Wait()
	d.b.want()
	d.waits(pause)
	return d
}

// waits lets a while pass, in which the holder holds and the rival waits.
func (d *duel) waits(pause time.Duration) {
	d.Helper()
	synctest.Wait() // a proof may be answered in this very instant
	require.True(d, d.held.Valid())
	require.NoError(d, d.held.Err())
	require.Empty(d, d.b.won)
	d.taken = false
	s := d.a.host.Status()
	d.cut, d.until, d.id = time.Now(), s.TrustedUntil, s.SessionID
}

// instant returns the first and the last moment at which something may happen.
type instant func(d *duel) (from, to time.Time)

func exactly(at func(d *duel) time.Time) instant {
	return func(d *duel) (from, to time.Time) { return at(d), at(d) }
}

var (
	atOnce  = exactly(func(d *duel) time.Time { return d.cut })
	trusted = exactly(func(d *duel) time.Time { return d.until })
	expired = exactly(func(d *duel) time.Time { return d.lapse })
	healed  = func(d *duel) (from, to time.Time) { return d.until, d.until.Add(time.Second) }
)

// within is from the fault on until most after it.
func within(most time.Duration) instant {
	return func(d *duel) (from, to time.Time) { return d.cut, d.cut.Add(most) }
}

// later puts an instant off.
func (i instant) later(by time.Duration) instant {
	return func(d *duel) (from, to time.Time) { from, to = i(d); return from.Add(by), to.Add(by) }
}

func (i instant) check(d *duel, what string, at time.Time) {
	d.Helper()
	from, to := i(d)
	require.False(d, at.Before(from) || at.After(to), "%s: %v behind the fault, and not %v to %v", what, at.Sub(d.cut), from.Sub(d.cut), to.Sub(d.cut))
}
