// Decisions that need no connection: blame, the gate, numbers, the order of answers, the library.

package zkconn

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
)

// Only a server that hangs up gives a reason to look for a request at which it did. One that lost
// an answer gives one for the request of that answer.
func TestOnlyAServerThatHangsUpBlamesARequest(t *testing.T) {
	t.Parallel()
	const small, big = 100, 5000
	for name, c := range map[string]struct {
		cause        error
		first        int // sizes
		one, another error
	}{
		"hung up":          {&networkError{"read", io.EOF}, small, ErrCutOffUsual, ErrCutOffUsual},
		"hung up at a big": {&networkError{"read", io.EOF}, big, ErrCutOffLarge, ErrCutOffUsual},
		"silent":           {errStalled, big, nil, nil},
		"malformed":        {errMalformed, big, nil, nil},
		"session moved":    {jute.SessionMoved, big, nil, nil},
		"timed out":        {&networkError{"read", os.ErrDeadlineExceeded}, big, nil, nil},
		"timed out below":  {&networkError{"read", &net.OpError{Op: "read", Err: syscall.ETIMEDOUT}}, big, nil, nil},
		"overtaken":        {&overtakenError{by: "another"}, big, ErrCutOff, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := &core{operations: newOperations(), taking: t.Context()}
			conn.session.timeout = time.Minute
			one := &request{ask: jute.Request{Op: jute.OpSetData}, size: c.first}
			another := &request{ask: jute.Request{Op: jute.OpGetData}, size: small}
			w := &socket{conn: conn, replied: true}
			w.await(one)
			w.await(newPing())
			w.await(another)
			if over, ok := errors.AsType[*overtakenError](c.cause); ok {
				over.r = one
			}
			w.blame(c.cause)
			for r, want := range map[*request]error{one: c.one, another: c.another} {
				err := r.unanswered()
				require.ErrorIs(t, err, ErrNoReply)
				if want == nil {
					require.NotErrorIs(t, err, ErrCutOff)
				} else {
					require.ErrorIs(t, err, want)
				}
			}
		})
	}
}

// Each request gets the next number, in its frame and in the order of answers, also on the next
// connection; behind the last number they begin anew. A connection that takes no requests gives
// none.
func TestNumbersOfRequestsGoOnAcrossConnections(t *testing.T) {
	t.Parallel()
	c := &core{session: identity{xid: math.MaxInt32 - 1}, taking: t.Context()}
	w := &socket{conn: c, since: time.Now()}
	c.socket = w
	last, first, second := &request{size: 8}, &request{size: 12}, &request{size: 8}
	frames := make([]byte, 3*4+8+12+8)
	require.NoError(t, w.number([]*request{last, first, second}, frames))
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
	require.NoError(t, next.number([]*request{{size: 8}}, make([]byte, 12)))
	require.EqualValues(t, 3, next.order[0].ask.Xid)

	c.socket = nil
	require.ErrorIs(t, w.number([]*request{{}}, frames), ErrNotSent)
	require.Len(t, w.order, 3)
}

// An answer has to be that of the oldest request; those of pings may come in between, or not at
// all.
func TestAnAnswerIsThatOfTheOldestRequest(t *testing.T) {
	t.Parallel()
	var q queue
	begun := time.Now()
	ask := func(xid int32) *request {
		r := &request{ask: jute.Request{Xid: xid}, sentAt: begun}
		q = append(q, r)
		return r
	}
	ping := func() {
		r := newPing()
		r.sentAt = begun
		q = append(q, r)
	}
	for xid := range int32(100) {
		ask(xid)
		ping()
		ask(1000 + xid)
		for _, x := range []int32{xid, 1000 + xid} {
			r, err := q.answered(x)
			require.NoError(t, err)
			require.Equal(t, x, r.ask.Xid)
		}
	}
	require.Empty(t, q)
	require.LessOrEqual(t, cap(q), 8, "the memory is used again")

	_, err := q.answered(1)
	require.ErrorIs(t, err, errMalformed, "an answer to nothing")
	first := ask(1)
	ask(2)
	_, err = q.answered(2)
	over, ok := errors.AsType[*overtakenError](err)
	require.True(t, ok)
	require.Same(t, first, over.r)

	sent, err := q.ponged()
	require.NoError(t, err)
	require.Zero(t, sent, "it answers no ping")
	for i := range maxOvertaken {
		ping()
		sent, err = q.ponged()
		require.Equal(t, begun, sent)
		_, over := errors.AsType[*overtakenError](err)
		require.Equal(t, i == maxOvertaken-1, over)
	}
	require.Len(t, q, 2)
}

// What a server says that it lacks is not known for that: another server may hang up at it.
func TestARefusalMakesNoOperationKnown(t *testing.T) {
	t.Parallel()
	k := newOperations()
	create2 := &request{ask: jute.Request{Op: jute.OpCreate2}, reply: jute.Reply{Err: jute.Unimplemented}}
	container := &request{ask: jute.Request{Op: jute.OpCreateContainer}}
	k.took(create2)
	require.False(t, k.has(create2))
	require.False(t, k.has(container))
	create2.reply.Err = jute.NodeExists
	k.took(create2)
	require.True(t, k.has(create2))
	require.True(t, k.has(container))
}

// Every code of ZooKeeper's KeeperException has an error value of its own, or a text that says more
// than its number; or it is about the connection or the session, and never reaches whoever asked.
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

func TestTheTestedLibraryIsThatOfTheModule(t *testing.T) {
	t.Parallel()
	mod, err := os.ReadFile("../../../go.mod")
	require.NoError(t, err)
	require.Contains(t, string(mod), libraryPath+" "+libraryVersion+"\n")
}

func TestAProgramTellsItsLibrary(t *testing.T) {
	t.Parallel()
	with := func(version string, replaced *debug.Module) *debug.BuildInfo {
		return &debug.BuildInfo{Deps: []*debug.Module{
			{Path: "example.com/other", Version: "v9.9.9"}, {Path: libraryPath, Version: version, Replace: replaced},
		}}
	}
	require.Empty(t, libraryOf(&debug.BuildInfo{}))
	require.Equal(t, "v1.0.5", libraryOf(with("v1.0.5", nil)))
	require.Equal(t, "example.com/fork v1.0.4", libraryOf(with("v1.0.4", &debug.Module{Path: "example.com/fork", Version: "v1.0.4"})))
}

// This program is built with the library that is tested, if it tells at all.
func TestTheTestedLibraryIsNotWarnedOf(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	warnOfLibrary(slog.New(slog.NewTextHandler(&log, nil)), &sync.Once{})
	require.Empty(t, log.String())
}

// A panic in the check for a stall loses the connection. It leaves nothing locked, which would
// block everything.
func TestAPanicInTheCheckForAStallLosesTheConnection(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	defer far.Close()
	c := &core{log: slog.New(slog.DiscardHandler), sink: func(Event) {}, life: t.Context(), taking: t.Context()}
	c.session.timeout = time.Second
	w := &socket{conn: c, link: newLink(near, 0, c.log), at: &target{server: "a", address: "a"}}
	w.order = queue{&request{sentAt: time.Now()}} // and no timer, which it can't do without
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

// An event disarms what it is about, and no more.
func TestAnEventDisarmsWhatItIsAbout(t *testing.T) {
	t.Parallel()
	data, children := Watch{Path: "/p"}, Watch{Path: "/p", Children: true}
	for event, left := range map[jute.EventType]watchTable{
		jute.NodeCreated:         {children: false},
		jute.NodeDataChanged:     {children: false},
		jute.NodeChildrenChanged: {data: false},
		jute.NodeDeleted:         {},
	} {
		table := watchTable{data: false, children: false}
		table.fired(jute.Event{Type: event, Path: "/p"})
		require.Equal(t, left, table, "%v", event)
	}
}

// A request that is to be alone waits for those that are under way; those that come behind it wait
// for it, and go together. Of several each waits until those are in that are none: nobody waits for
// more than one of them. Whoever gives up holds nobody up. Each step is who comes ("s!" is to be
// alone), "-" and "-!" for one that leaves, or "give up"; and who has been let in by then.
func TestWhoIsToBeAloneIs(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string][][2]string{
		"one after the other": {
			{"a", "a"},
			{"b", "a b"},
			{"s!", "a b"},
			{"c", "a b"},
			{"-", "a b"},
			{"-", "a b s!"},
			{"t!", "a b s!"},
			{"-!", "a b s! c"},
			{"-", "a b s! c t!"},
			{"-!", "a b s! c t!"},
			{"u!", "a b s! c t! u!"},
			{"e", "a b s! c t! u!"},
			{"give up", "a b s! c t! u!"},
			{"-!", "a b s! c t! u!"},
		},
		"a suspect gives up": {{"a", "a"}, {"s!", "a"}, {"give up", "a"}, {"b", "a b"}, {"-", "a b"}, {"-", "a b"}},
		"suspects take turns with the others": {
			{"a", "a"}, {"s!", "a"}, {"t!", "a"}, {"x", "a"}, {"y", "a"}, {"-", "a s!"}, {"-!", "a s! x y"}, {"-", "a s! x y"}, {"-", "a s! x y t!"}, {"-!", "a s! x y t!"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { goThrough(t, steps) })
		})
	}
}

func goThrough(t *testing.T, steps [][2]string) {
	g, in := newGate(), make(chan string, len(steps))
	ctx, giveUp := context.WithCancel(t.Context())
	var all []string
	for _, step := range steps {
		switch who := step[0]; who {
		case "-", "-!":
			g.leave(who == "-!")
		case "give up":
			giveUp()
			synctest.Wait()
			ctx, giveUp = context.WithCancel(t.Context())
		default:
			go func() { // ends when it is let in, or gives up
				if g.enter(ctx, strings.HasSuffix(who, "!")) == nil {
					in <- who
				}
			}()
		}
		synctest.Wait()
		for len(in) > 0 {
			all = append(all, <-in)
		}
		require.ElementsMatch(t, strings.Fields(step[1]), all, "%v", step)
	}
	giveUp()
	require.True(t, g.turn.TryAcquire(1), "nobody waits")
	require.True(t, g.room.TryAcquire(wholeRoom), "nobody is inside")
}

// What the network reports is told without its addresses, which lines of the log and errors name
// beside it; but not without what a dialer of the application's adds.
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
