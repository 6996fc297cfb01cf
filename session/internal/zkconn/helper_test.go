// The shared helpers of this package's tests: a scripted server, a Conn on it in virtual time, and
// the events of the Conn.

package zkconn_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

func TestMain(m *testing.M) { tier.Main(m) }

// fake is a scripted ZooKeeper server in memory: it does what real ones do only when something goes
// wrong with them, at exact instants. Without a script it hands out session 7, agrees to every
// timeout, and answers every request with success.
type fake struct {
	t testing.TB

	// The script; set before a client dials, or with the lock held.
	mu      sync.Mutex
	refuse  func(addr string) error                                   // the error of a dial
	hangsUp func(v *visit) bool                                       // true: at a connect request
	raw     []byte                                                    // the answer to that, in place of welcome
	welcome func(jute.ConnectRequest) (jute.ConnectResponse, bool)    // the answer to that; false: none
	answer  func(*visit, jute.Request) (answer jute.Reply, send bool) // to a request; false: none, or the script has sent it

	dials  []dialled
	visits []*visit
}

type dialled struct {
	addr string
	at   time.Time
}

// visit is one connection, seen from the server.
type visit struct {
	fake    *fake
	conn    net.Conn
	addr    string
	hello   jute.ConnectRequest
	writing chan struct{} // full while a frame is written; no mutex, since in a bubble waiting for one stops the clock

	mu       sync.Mutex
	requests []jute.Request
	halt     chan struct{} // see stopReading
	zxid     int64         // of the last reply
}

func (f *fake) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	f.mu.Lock()
	f.dials = append(f.dials, dialled{addr, time.Now()})
	refuse := f.refuse
	f.mu.Unlock()
	if refuse != nil {
		if err := refuse(addr); err != nil {
			if errors.Is(err, errSilent) {
				<-ctx.Done()
			}
			return nil, err
		}
	}
	client, server := net.Pipe()
	v := &visit{fake: f, conn: server, addr: addr, writing: make(chan struct{}, 1)}
	f.mu.Lock()
	f.visits = append(f.visits, v)
	f.mu.Unlock()
	go v.serve() // ends when the client hangs up
	return client, nil
}

// errSilent as a refusal lets the dial hang until its context ends.
var errSilent = errors.New("no answer")

func (v *visit) serve() {
	defer v.conn.Close()
	in := bufio.NewReader(v.conn)
	frame, err := readFrame(in)
	if err != nil {
		return
	}
	if v.hello.Decode(jute.NewReader(frame)) != nil {
		return
	}
	v.fake.mu.Lock()
	hangsUp := v.fake.hangsUp
	v.fake.mu.Unlock()
	if hangsUp != nil && hangsUp(v) {
		return
	}
	if !v.greet() {
		_, _ = io.Copy(io.Discard, in) // a stopped server: it takes what comes and says nothing
		return
	}
	for {
		frame, err := readFrame(in)
		if err != nil {
			return
		}
		var q jute.Request
		if q.Decode(jute.NewReader(frame)) != nil {
			return
		}
		v.mu.Lock()
		v.requests = append(v.requests, q)
		v.mu.Unlock()
		answer, send := v.ask(q)
		if send {
			v.reply(q, answer)
		}
		if send && q.Op == jute.OpCloseSession {
			return
		}
		v.mu.Lock()
		halt := v.halt
		v.mu.Unlock()
		if halt != nil {
			<-halt
		}
	}
}

func (v *visit) greet() bool {
	v.fake.mu.Lock()
	welcome, raw := v.fake.welcome, v.fake.raw
	v.fake.mu.Unlock()
	if raw != nil {
		v.write(raw)
		return false
	}
	resp := jute.ConnectResponse{Timeout: v.hello.Timeout, SessionID: 7, Password: make([]byte, 16), Old: v.hello.Old}
	if welcome != nil {
		var ok bool
		if resp, ok = welcome(v.hello); !ok {
			return false
		}
	}
	v.write(greeting(resp))
	return true
}

// greeting is how a server answers a handshake.
func greeting(resp jute.ConnectResponse) []byte {
	w := jute.NewWriter(nil)
	w.Begin()
	resp.Encode(w)
	w.End()
	return w.Bytes()
}

func (v *visit) ask(q jute.Request) (jute.Reply, bool) {
	v.fake.mu.Lock()
	script := v.fake.answer
	v.fake.mu.Unlock()
	if script != nil && q.Op != jute.OpPing {
		return script(v, q)
	}
	return success(q), true
}

// success is what a server answers if all is well, to every operation. Of all creates, only the
// reply to a create2 has a Stat.
func success(q jute.Request) jute.Reply {
	answer := jute.Reply{Path: named(q)}
	if q.Op == jute.OpCreate2 {
		answer.Stat = jute.Stat{Czxid: 77, EphemeralOwner: 7}
	}
	for _, op := range q.Ops {
		answer.Results = append(answer.Results, jute.Result{Op: op.Op, Path: named(op)})
	}
	return answer
}

// failure answers with a code.
func failure(code jute.Code) jute.Reply { return jute.Reply{Err: code} }

// reply sends an answer, with the next zxid if it is one that has a zxid.
func (v *visit) reply(q jute.Request, answer jute.Reply) {
	v.mu.Lock()
	answer.Xid = q.Xid
	if q.Xid > 0 {
		v.zxid++
		answer.Zxid = v.zxid
	}
	v.mu.Unlock()
	w := jute.NewWriter(nil)
	w.Begin()
	answer.Encode(w, q.Op)
	w.End()
	v.write(w.Bytes())
}

func (v *visit) fire(t jute.EventType, path string) {
	w := jute.NewWriter(nil)
	w.Begin()
	(&jute.Event{Type: t, State: jute.StateConnected, Path: path}).Encode(w, -1)
	w.End()
	v.write(w.Bytes())
}

// write fails when the client has hung up, which is no concern of the server's.
func (v *visit) write(b []byte) {
	v.writing <- struct{}{}
	defer func() { <-v.writing }()
	_, _ = v.conn.Write(b)
}

// stop lets nothing more come from the server, until it is called back.
func (v *visit) stop() (resume func()) {
	v.writing <- struct{}{}
	return func() { <-v.writing }
}

// stopReading lets the server deal with one more frame and read no other, until it is called back.
func (v *visit) stopReading() (resume func()) {
	halt := make(chan struct{})
	v.mu.Lock()
	v.halt = halt
	v.mu.Unlock()
	return func() { close(halt) }
}

func (v *visit) hangUp() { _ = v.conn.Close() }

// asked are the requests so far, without pings.
func (v *visit) asked() []jute.Request {
	v.mu.Lock()
	defer v.mu.Unlock()
	var all []jute.Request
	for _, q := range v.requests {
		if q.Op != jute.OpPing {
			all = append(all, q)
		}
	}
	return all
}

func (v *visit) ops() []jute.Op {
	var all []jute.Op
	for _, q := range v.asked() {
		all = append(all, q.Op)
	}
	return all
}

// script changes what the server does from now on.
func (f *fake) script(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// answers changes what the server answers from now on; nil: success.
func (f *fake) answers(script func(*visit, jute.Request) (answer jute.Reply, send bool)) {
	f.script(func() { f.answer = script })
}

// answersNothing is a server that reads and says nothing.
func answersNothing(*visit, jute.Request) (answer jute.Reply, send bool) { return jute.Reply{}, false }

// hangsUp is a server that closes the connection at a request.
func hangsUp(v *visit, _ jute.Request) (answer jute.Reply, send bool) {
	v.hangUp()
	return jute.Reply{}, false
}

// except is a server that answers with success, but one operation in another way.
func except(op jute.Op, answer func(*visit, jute.Request) (jute.Reply, bool)) func(*visit, jute.Request) (jute.Reply, bool) {
	return func(v *visit, q jute.Request) (jute.Reply, bool) {
		if q.Op == op {
			return answer(v, q)
		}
		return success(q), true
	}
}

// answersAfter is a server that takes its time.
func answersAfter(d time.Duration) func(*visit, jute.Request) (jute.Reply, bool) {
	return func(_ *visit, q jute.Request) (jute.Reply, bool) {
		time.Sleep(d)
		return success(q), true
	}
}

// refuses is a server that answers with a code.
func refuses(code jute.Code) func(*visit, jute.Request) (jute.Reply, bool) {
	return func(*visit, jute.Request) (jute.Reply, bool) { return failure(code), true }
}

// agrees is how a server welcomes a client.
func agrees(q jute.ConnectRequest) jute.ConnectResponse {
	return jute.ConnectResponse{Timeout: q.Timeout, SessionID: 7, Password: make([]byte, 16)}
}

// welcomesAfter is a server that takes its time to do so.
func welcomesAfter(d time.Duration) func(jute.ConnectRequest) (jute.ConnectResponse, bool) {
	return func(q jute.ConnectRequest) (jute.ConnectResponse, bool) {
		time.Sleep(d)
		return agrees(q), true
	}
}

// drops has the server at an address, or every one if that is "", accept sessions and drop the
// connections at once.
func (f *fake) drops(addr string) {
	f.welcome = func(q jute.ConnectRequest) (jute.ConnectResponse, bool) {
		f.mu.Lock()
		v := f.visits[len(f.visits)-1]
		f.mu.Unlock()
		if addr == "" || v.addr == addr {
			go func() {
				synctest.Wait()
				v.hangUp()
			}()
		}
		return agrees(q), true
	}
}

// visit is the nth connection, from 0 on; it must have come.
func (f *fake) visit(n int) *visit {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n >= len(f.visits) {
		f.t.Fatalf("there were %d connections, not %d", len(f.visits), n+1)
	}
	return f.visits[n]
}

func (f *fake) dialled() []dialled {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]dialled(nil), f.dials...)
}

func readFrame(in io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, err
	}
	frame := make([]byte, binary.BigEndian.Uint32(head[:]))
	_, err := io.ReadFull(in, frame)
	return frame, err
}

const timeout = 6 * time.Second // of the sessions here: a sixth of it is a second

// sink collects what a Conn tells, and fails the test if it is told two things at once.
type sink struct {
	t      testing.TB
	busy   atomic.Bool
	mu     sync.Mutex
	events []zkconn.Event
	times  []time.Time
}

func (s *sink) take(ev zkconn.Event) {
	if !s.busy.CompareAndSwap(false, true) {
		s.t.Error("the sink was called by two goroutines at once")
	}
	defer s.busy.Store(false)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events, s.times = append(s.events, ev), append(s.times, time.Now())
}

// all is what was told, but for the answers to pings.
func (s *sink) all() []zkconn.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.events), func(ev zkconn.Event) bool {
		_, heard := ev.(zkconn.Heard)
		return heard
	})
}

// told are the events of one type with the instants at which they were told.
func told[E zkconn.Event](s *sink) (events []E, at []time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, ev := range s.events {
		if e, ok := ev.(E); ok {
			events, at = append(events, e), append(at, s.times[i])
		}
	}
	return events, at
}

func last[E zkconn.Event](s *sink) E {
	events, _ := told[E](s)
	require.NotEmpty(s.t, events, "no %T was told", *new(E))
	return events[len(events)-1]
}

// bench is a Conn on a scripted server, inside a bubble.
type bench struct {
	*testing.T
	*fake
	*zkconn.Conn
	sink *sink
}

// inBubble runs a test with virtual time. The Conn is closed at the end, and everything has to be
// over then.
func inBubble(t *testing.T, test func(b *bench), change ...func(*fake, *zkconn.Config)) {
	t.Helper()
	t.Parallel()
	inOneBubble(t, test, change...)
}

// inOneBubble is inBubble for a test that has several, one after the other.
func inOneBubble(t *testing.T, test func(b *bench), change ...func(*fake, *zkconn.Config)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{t: t}
		s := &sink{t: t}
		cfg := zkconn.Config{Servers: []string{"a:1"}, Timeout: timeout, Dial: f.dial}
		for _, c := range change {
			c(f, &cfg)
		}
		c, err := zkconn.Open(cfg, s.take)
		require.NoError(t, err)
		b := &bench{T: t, fake: f, Conn: c, sink: s}
		defer func() {
			if t.Failed() {
				t.Logf("told: %+v at %v", s.events, s.times)
			}
			c.Abandon()
			for _, v := range f.visits {
				v.hangUp()
			}
			synctest.Wait()
		}()
		test(b)
	})
}

// each runs a test for each row of a table, in bubbles.
func each[R any](t *testing.T, rows map[string]R, test func(b *bench, row R), change ...func(*fake, *zkconn.Config)) {
	t.Helper()
	t.Parallel()
	for name, row := range rows {
		t.Run(name, func(t *testing.T) { inBubble(t, func(b *bench) { test(b, row) }, change...) })
	}
}

// connected waits for everything that happens without the clock moving, and checks that it leads to
// a connection.
func (b *bench) connected() *visit {
	b.Helper()
	synctest.Wait()
	ups, _ := told[zkconn.Up](b.sink)
	require.NotEmpty(b, ups, "not connected")
	b.fake.mu.Lock()
	defer b.fake.mu.Unlock()
	return b.visits[len(b.visits)-1]
}

func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func threeServers(_ *fake, cfg *zkconn.Config) { cfg.Servers = []string{"a:1", "b", "[::1]"} }

var errRefused = errors.New("refused")

func (b *bench) beginClose(d time.Duration) <-chan error {
	return bubble.Begin(func() error { return b.Close(within(b, d)) })
}

// afterwards lets the server say something else when the client comes back to it.
func (b *bench) afterwards(resp jute.ConnectResponse) {
	b.script(func() {
		b.welcome = func(jute.ConnectRequest) (jute.ConnectResponse, bool) { return resp, true }
	})
}

// frame builds a frame that claims the given length: the header of a reply (xid, zxid 1, no error),
// and behind it numbers of 32 bits.
func frame(length, xid int32, rest ...uint32) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(length))
	b = binary.BigEndian.AppendUint32(b, uint32(xid))
	b = binary.BigEndian.AppendUint64(b, 1)
	b = binary.BigEndian.AppendUint32(b, 0)
	for _, n := range rest {
		b = binary.BigEndian.AppendUint32(b, n)
	}
	return b
}

var world = []jute.ACL{{Perms: jute.PermAll, Scheme: "world", ID: "anyone"}}

// errOf is the error that a call returns behind its results.
func errOf(results ...any) error {
	err, _ := results[len(results)-1].(error)
	return err
}

// every has each request, as a function that makes it and returns its error.
func every(c *zkconn.Conn) map[jute.Op]func() error {
	create := func(mode int32) func() error {
		return func() error {
			_, err := c.Create("/a", []byte("x"), mode, time.Minute, world)
			return err
		}
	}
	return map[jute.Op]func() error{
		jute.OpCreate: create(jute.FlagEphemeral),
		jute.OpCreate2: func() error {
			_, err := c.Enter(zkconn.Entry{Path: "/a", Data: []byte("x"), Flags: jute.FlagEphemeral, ACL: world})
			return err
		},
		jute.OpCreateContainer: create(jute.FlagContainer),
		jute.OpCreateTTL:       create(jute.FlagPersistentTTL),
		jute.OpGetData:         func() error { _, _, err := c.Get("/a", true); return err },
		jute.OpExists:          func() error { _, _, err := c.Exists("/a", false); return err },
		jute.OpGetChildren2:    func() error { _, _, err := c.Children("/a", false); return err },
		jute.OpSetData:         func() error { _, err := c.Set("/a", nil, 3); return err },
		jute.OpDelete:          func() error { return c.Delete("/a", 3) },
		jute.OpGetACL:          func() error { _, _, err := c.GetACL("/a"); return err },
		jute.OpSetACL:          func() error { _, err := c.SetACL("/a", world, 3); return err },
		jute.OpSync:            func() error { return c.Sync("/a") },
		jute.OpMulti: func() error {
			_, err := c.Multi([]jute.Request{{Op: jute.OpCheck, Path: "/a", Version: 3}})
			return err
		},
	}
}

// named is the path that a request is answered with: one that asks for a number gets it.
func named(q jute.Request) string {
	if q.Flags&jute.FlagSequential != 0 {
		return q.Path + "0000000005"
	}
	return q.Path
}
