// Decisions that need no connection: blame, requests that go alone, numbers, the order of answers.

package zkconn

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
)

// Only a server that hangs up gives a reason to blame a request. One that lost an answer gives one
// for the request of that answer.
func TestOnlyAServerThatHangsUpBlamesARequest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cause        error
		one, another bool // may be the reason
	}{
		"hung up":         {&networkError{"read", io.EOF}, true, true},
		"silent":          {errStalled, false, false},
		"malformed":       {errMalformed, false, false},
		"session moved":   {jute.SessionMoved, false, false},
		"timed out":       {&networkError{"read", os.ErrDeadlineExceeded}, false, false},
		"timed out below": {&networkError{"read", &net.OpError{Op: "read", Err: syscall.ETIMEDOUT}}, false, false},
		"overtaken":       {&overtakenError{by: "another"}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := &core{cfg: Config{Counts: new(Counts)}, taking: t.Context()}
			conn.session.timeout = time.Minute
			one, another := &request{ask: jute.Request{Op: jute.OpSetData}}, &request{ask: jute.Request{Op: jute.OpGetData}}
			w := &socket{conn: conn, replied: true}
			w.await(one)
			w.await(newPing())
			w.await(another)
			if over, ok := errors.AsType[*overtakenError](c.cause); ok {
				over.r = one
			}
			w.blame(c.cause)
			for r, reason := range map[*request]bool{one: c.one, another: c.another} {
				require.ErrorIs(t, r.outcome(), ErrNoReply)
				require.Equal(t, reason, errors.Is(r.outcome(), ErrCutOff))
			}
		})
	}
}

// numbered gives requests their numbers; it fails if they have to wait for another one.
func numbered(w *socket, frames []byte, rs ...*request) error {
	before, err := w.number(rs, frames)
	if before != nil {
		return errors.New("it waits")
	}
	return err
}

// Each request gets the next number, in its frame and in the order of answers, also on the next
// connection; behind the last number they begin anew. A connection that takes no requests gives
// none.
func TestNumbersOfRequestsGoOnAcrossConnections(t *testing.T) {
	t.Parallel()
	c := &core{cfg: Config{Counts: new(Counts)}, session: identity{xid: math.MaxInt32 - 1}, taking: t.Context()}
	w := &socket{conn: c, since: time.Now()}
	c.socket = w
	last, first, second := &request{size: 8}, &request{size: 12}, &request{size: 8}
	frames := make([]byte, 3*4+8+12+8)
	require.NoError(t, numbered(w, frames, last, first, second))
	require.Len(t, w.order, 3)
	for i, want := range []struct {
		at  int
		xid int32
	}{{4, math.MaxInt32}, {16, 1}, {32, 2}} {
		require.Equal(t, want.xid, w.order[i].ask.Xid)
		require.EqualValues(t, want.xid, binary.BigEndian.Uint32(frames[want.at:]))
	}

	next := &socket{conn: c, since: time.Now()}
	c.socket = next
	require.NoError(t, numbered(next, make([]byte, 12), &request{size: 8}))
	require.EqualValues(t, 3, next.order[0].ask.Xid)

	c.socket = nil
	require.ErrorIs(t, numbered(w, frames, new(request)), ErrNotSent)
	require.Len(t, w.order, 3)
}

// An answer has to be that of the oldest request; those of pings may come in between, or not at
// all.
func TestAnAnswerIsThatOfTheOldestRequest(t *testing.T) {
	t.Parallel()
	w := new(socket)
	begun := time.Now()
	ask := func(xid int32) *request {
		r := &request{ask: jute.Request{Xid: xid}, sentAt: begun}
		w.order = append(w.order, r)
		return r
	}
	ping := func() {
		r := newPing()
		r.sentAt = begun
		w.order = append(w.order, r)
	}
	for xid := range int32(100) {
		ask(xid)
		ping()
		ask(1000 + xid)
		for _, x := range []int32{xid, 1000 + xid} {
			r, err := w.answered(x)
			require.NoError(t, err)
			require.Equal(t, x, r.ask.Xid)
		}
	}
	require.Empty(t, w.order)
	require.LessOrEqual(t, cap(w.order), 8, "the memory is used again")

	_, err := w.answered(1)
	require.ErrorIs(t, err, errMalformed, "an answer to nothing")
	first := ask(1)
	ask(2)
	_, err = w.answered(2)
	over, ok := errors.AsType[*overtakenError](err)
	require.True(t, ok)
	require.Same(t, first, over.r)

	sent, err := w.ponged()
	require.NoError(t, err)
	require.Zero(t, sent, "it answers no ping")
	for i := range maxOvertaken {
		ping()
		sent, err = w.ponged()
		require.Equal(t, begun, sent)
		_, over := errors.AsType[*overtakenError](err)
		require.Equal(t, i == maxOvertaken-1, over)
	}
	require.Len(t, w.order, 2)
}

// Every code of ZooKeeper's KeeperException has an error value of its own, or a text that says more
// than its number; or it is about the connection or the session, and never reaches the caller.
func TestEveryErrorCodeHasAName(t *testing.T) {
	t.Parallel()
	for _, code := range []jute.Code{
		-1, -2, -3, -4, -5, -6, -7, -8, -12, -13, -14,
		-100, -101, -102, -103, -108, -110, -111, -112, -113, -114, -115, -118, -119, -120, -121, -122, -123, -124, -125, -127,
	} {
		if undecided(code) {
			continue
		}
		err := verdict(code)
		require.Error(t, err, code)
		if coded, ok := errors.AsType[*CodeError](err); ok {
			require.Contains(t, meanings, code)
			require.Contains(t, coded.Error(), meanings[code])
		}
	}
}

// A panic in the check for a stall loses the connection. It leaves nothing locked, which would
// block everything.
func TestAPanicInTheCheckForAStallLosesTheConnection(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	defer far.Close()
	c := &core{cfg: Config{Counts: new(Counts)}, log: slog.New(slog.DiscardHandler), sink: func(Event) {}, life: t.Context(), taking: t.Context()}
	c.session.timeout = time.Second
	w := &socket{conn: c, link: newLink(near, 0, c.log), at: &target{server: "a", address: "a"}}
	w.order = []*request{{sentAt: time.Now()}} // and no timer, which it can't do without
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.checkStall()
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		require.Fail(t, "it does not return")
	}
	require.True(t, w.lost.Closed())
	require.ErrorIs(t, w.dead, errPanic)
	require.True(t, c.mu.TryLock())
}

func TestAnEventDisarmsWhatItIsAbout(t *testing.T) {
	t.Parallel()
	data, children := Watch{Path: "/p"}, Watch{Path: "/p", Children: true}
	for event, left := range map[jute.EventType]map[Watch]bool{
		jute.NodeCreated:         {children: false},
		jute.NodeDataChanged:     {children: false},
		jute.NodeChildrenChanged: {data: false},
		jute.NodeDeleted:         {},
	} {
		c := &core{cfg: Config{Counts: new(Counts)}, watches: map[Watch]bool{data: false, children: false}}
		c.disarm(jute.Event{Type: event, Path: "/p"})
		require.Equal(t, left, c.watches, "%v", event)
	}
}

// A request that is to be alone waits until all are answered that are under way, and those that
// come meanwhile wait for it. Requests that trust depends on do not wait, nor are they waited for.
// Several take turns. One that is called off holds up none. Each step is a request that asks to be
// sent ("!" is to be alone, "?" is what trust depends on, "x" is called off), or whose answer has
// come ("-"), and the one whose answer has to come first.
func TestWhoIsToBeAloneIs(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string][][2]string{
		"one after the other": {
			{"a", ""},
			{"b", ""},
			{"s!", "b"},
			{"c", "s!"},
			{"-a", ""},
			{"s!", "b"},
			{"-b", ""},
			{"s!", ""},
			{"c", "s!"},
			{"t!", "s!"},
			{"-s!", ""},
			{"c", ""},
			{"t!", "c"},
			{"d", "t!"},
			{"-c", ""},
			{"t!", ""},
			{"-t!", ""},
			{"d", ""},
		},
		"what trust depends on": {{"a", ""}, {"s!", "a"}, {"p?", ""}, {"-a", ""}, {"s!", ""}, {"q?", ""}, {"u?!", "s!"}, {"-p?", ""}, {"-s!", ""}},
		"called off":            {{"a", ""}, {"s!x", "a"}, {"b", "s!x"}, {"-a", ""}, {"s!x", "called off"}, {"b", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &core{cfg: Config{Counts: new(Counts)}, taking: t.Context()}
			w := &socket{conn: c, since: time.Now()}
			c.socket = w
			all, off, asked := make(map[string]*request), false, 0
			for i, step := range steps {
				who, answered := strings.CutPrefix(step[0], "-")
				r := all[who]
				if r == nil {
					r = &request{ask: jute.Request{Path: who}, alone: strings.Contains(who, "!"), probe: strings.Contains(who, "?")}
					if strings.Contains(who, "x") {
						r.holds = func() bool {
							asked++
							return !off
						}
					}
					all[who] = r
				}
				off = step[1] == "called off"
				if answered {
					_, err := w.answered(r.ask.Xid)
					require.NoError(t, err)
					r.answered.Close()
					continue
				}
				before, err := w.number([]*request{r}, make([]byte, 12))
				var first string
				switch {
				case err != nil:
					first = "called off"
					require.ErrorIs(t, err, ErrCalledOff)
				case before != nil:
					first = before.ask.Path
					require.Zero(t, asked, "%s has no place yet", who)
				}
				require.Equal(t, step[1], first, "step %d, %s", i, who)
			}
		})
	}
}

// An error of the network is told without its addresses, which lines of the log and errors name
// beside it; but with the text that a dialer of the application's adds.
func TestAnErrorOfTheNetworkIsToldWithoutAddresses(t *testing.T) {
	t.Parallel()
	at := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 2181}
	reset := &net.OpError{Op: "read", Net: "tcp", Source: at, Addr: at, Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	for want, err := range map[string]error{
		"read: connection reset by peer":    reset,
		"i/o timeout":                       &net.OpError{Op: "dial", Net: "tcp", Addr: at, Err: os.ErrDeadlineExceeded},
		"through a proxy: " + reset.Error(): fmt.Errorf("through a proxy: %w", reset),
		"EOF":                               io.EOF,
	} {
		require.EqualError(t, bare(err), want)
	}
	require.ErrorIs(t, bare(reset), syscall.ECONNRESET)
	require.EqualError(t, (&link{}).failed("read", reset), "read: read: connection reset by peer")
}
