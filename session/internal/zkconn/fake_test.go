package zkconn_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

// fake is a scripted ZooKeeper server in memory: it does what real ones do only when something goes
// wrong with them, at exact instants. Without a script it hands out session 7, agrees to every
// timeout, and answers every request with success.
type fake struct {
	t testing.TB

	// The script; set before a client dials, or with the lock held.
	mu      sync.Mutex
	refuse  func(addr string) error                                   // of a dial
	welcome func(jute.ConnectRequest) (jute.ConnectResponse, bool)    // false: no answer
	answer  func(*visit, jute.Request) (answer jute.Reply, send bool) // false: none; the script may have answered itself
	raw     []byte                                                    // in place of the welcome

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
	lengths  []int
	halt     chan struct{}
	zxid     int64
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
var errSilent = errors.New("nobody answers")

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
		v.requests, v.lengths = append(v.requests, q), append(v.lengths, len(frame))
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
	w := jute.NewWriter(nil)
	w.Begin()
	resp.Encode(w)
	w.End()
	v.write(w.Bytes())
	return true
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

// success is what a server answers if all is well, to every operation.
func success(q jute.Request) jute.Reply {
	answer := jute.Reply{Path: q.Path}
	for _, op := range q.Ops {
		answer.Results = append(answer.Results, jute.Result{Op: op.Op, Path: op.Path})
	}
	return answer
}

// failure answers with a code.
func failure(code jute.Code) jute.Reply { return jute.Reply{Err: code} }

// reply sends an answer, with the next zxid if it is one that has a zxid.
func (v *visit) reply(q jute.Request, answer jute.Reply) {
	v.mu.Lock()
	if answer.Xid = q.Xid; q.Xid > 0 {
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

// sizes are those of the frames so far, without pings.
func (v *visit) sizes() (all []int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i, q := range v.requests {
		if q.Op != jute.OpPing {
			all = append(all, v.lengths[i])
		}
	}
	return all
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
