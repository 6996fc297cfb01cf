package bench_test

// The bare client that the others are measured beside.

import (
	"encoding/binary"
	"net"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// raw is a bare client, and the two raw forms of a lock on it.
type raw struct {
	conn *zk.Conn
	dir  string
	sent *frames
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

func newRaw(tb testing.TB, servers []string, dir string) *raw {
	tb.Helper()
	out := newFrames()
	conn, events, err := zk.Connect(servers, 10*time.Second, zk.WithLogger(quiet{}), zk.WithDialer(out.dial))
	require.NoError(tb, err)
	tb.Cleanup(conn.Close)
	for ev := range events {
		if ev.State == zk.StateHasSession {
			break
		}
	}
	_, err = conn.Create(dir, nil, 0, zk.WorldACL(zk.PermAll))
	if err != nil {
		require.ErrorIs(tb, err, zk.ErrNodeExists)
	}
	return &raw{conn: conn, dir: dir, sent: out}
}

func (r *raw) create(tb testing.TB) string {
	tb.Helper()
	place, err := r.conn.Create(r.dir+"/_c_0123456789abcdef0123456789abcdef-lock-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
	assert.NoError(tb, err) // also beside the benchmark's goroutine
	return place
}

func (r *raw) list(tb testing.TB) []string {
	tb.Helper()
	names, _, err := r.conn.Children(r.dir)
	require.NoError(tb, err)
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(a[len(a)-10:], b[len(b)-10:]) })
	return names
}

func (r *raw) delete(tb testing.TB, place string) {
	tb.Helper()
	require.NoError(tb, r.conn.Delete(place, -1))
}

// least is an uncontended cycle with the fewest requests.
func (r *raw) least(tb testing.TB) {
	tb.Helper()
	place := r.create(tb)
	require.Equal(tb, path.Base(place), r.list(tb)[0])
	r.delete(tb, place)
}

// same is an uncontended cycle with the requests that Troupe makes, in the same two trips: the
// listing right behind the create, the deletion right behind the read.
func (r *raw) same(tb testing.TB) {
	tb.Helper()
	created := make(chan string, 1)
	r.sent.ahead(opCreate, func() { created <- r.create(tb) })
	names := r.list(tb)
	place := <-created
	require.Equal(tb, path.Base(place), names[0])
	fired := make(chan (<-chan zk.Event), 1)
	r.sent.ahead(opGetData, func() {
		_, _, ev, err := r.conn.GetW(place)
		assert.NoError(tb, err)
		fired <- ev
	})
	r.delete(tb, place)
	<-<-fired
}

// waiter is a bare contender in a long line.
type waiter struct {
	*raw
	b     *testing.B
	same  bool // with the requests that Troupe makes
	place string
	gone  <-chan zk.Event
	mine  <-chan zk.Event // only if same
}

// queue takes a place and watches the one ahead; the head of the line watches nobody.
func (w *waiter) queue() {
	w.place = w.create(w.b)
	if w.same {
		_, _, mine, err := w.conn.GetW(w.place)
		require.NoError(w.b, err)
		w.mine = mine
	}
	w.watchAhead()
}

func (w *waiter) watchAhead() {
	names := w.list(w.b)
	i := slices.Index(names, path.Base(w.place))
	require.GreaterOrEqual(w.b, i, 0, "own znode in %v", names)
	w.gone = nil
	if i > 0 {
		_, _, gone, err := w.conn.GetW(w.dir + "/" + names[i-1])
		require.NoError(w.b, err)
		w.gone = gone
	}
}

// leave gives the place up.
func (w *waiter) leave() {
	w.delete(w.b, w.place)
	if w.mine != nil {
		<-w.mine
	}
}

// won waits until the one ahead is gone and looks again, as every recipe that is right does.
func (w *waiter) won() {
	for w.gone != nil {
		<-w.gone
		w.watchAhead()
	}
}

// frames is a bare client's connection that says which requests have been written, so that another
// can be sent right behind one.
type frames struct {
	net.Conn
	written chan uint32 // operations; what nobody waits for may be lost
}

func newFrames() *frames { return &frames{written: make(chan uint32, 64)} }

func (w *frames) dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	conn, err := net.DialTimeout(network, addr, timeout)
	return &frames{conn, w.written}, err
}

// The operations that others are sent behind.
const (
	opCreate  = 1
	opGetData = 4
)

// Write takes one frame of the client's.
func (w *frames) Write(frame []byte) (int, error) {
	n, err := w.Conn.Write(frame)
	if len(frame) >= 12 {
		select {
		case w.written <- binary.BigEndian.Uint32(frame[8:]):
		default:
		}
	}
	return n, err
}

// ahead makes a request beside the caller and returns when it has been written. Word of others may
// still be on its way.
func (w *frames) ahead(op uint32, request func()) {
	for len(w.written) > 0 {
		<-w.written
	}
	go request() // ends with its answer, for which the caller waits
	for <-w.written != op {
	}
}
