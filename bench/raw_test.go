package bench_test

// The bare client that the others are measured beside.

import (
	"fmt"
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
	wire *wire
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

func newRaw(tb testing.TB, servers []string, dir string) *raw {
	tb.Helper()
	out := newWire()
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
	return &raw{conn: conn, dir: dir, wire: out}
}

func (r *raw) create(tb testing.TB) string {
	tb.Helper()
	own, err := r.conn.Create(r.dir+"/_c_0123456789abcdef0123456789abcdef-lock-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
	assert.NoError(tb, err) // also beside the benchmark's goroutine
	return own
}

func (r *raw) list(tb testing.TB) []string {
	tb.Helper()
	names, _, err := r.conn.Children(r.dir)
	require.NoError(tb, err)
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(a[len(a)-10:], b[len(b)-10:]) })
	return names
}

func (r *raw) delete(tb testing.TB, own string) {
	tb.Helper()
	require.NoError(tb, r.conn.Delete(own, -1))
}

// least is an uncontended cycle with the fewest requests.
func (r *raw) least(tb testing.TB) {
	tb.Helper()
	own := r.create(tb)
	require.Equal(tb, path.Base(own), r.list(tb)[0])
	r.delete(tb, own)
}

// same is an uncontended cycle with the requests that Troupe makes, in the same two trips: the
// listing right behind the create, the deletion right behind the read.
func (r *raw) same(tb testing.TB) {
	tb.Helper()
	created := make(chan string, 1)
	r.wire.ahead(opCreate, func() { created <- r.create(tb) })
	names := r.list(tb)
	own := <-created
	require.Equal(tb, path.Base(own), names[0])
	fired := make(chan (<-chan zk.Event), 1)
	r.wire.ahead(opGetData, func() {
		_, _, ev, err := r.conn.GetW(own)
		assert.NoError(tb, err)
		fired <- ev
	})
	r.delete(tb, own)
	<-<-fired
}

// waiter is a bare contender in a long line.
type waiter struct {
	*raw
	own  string
	gone <-chan zk.Event
	mine <-chan zk.Event // only in the form that is the same as Troupe's
}

// queue takes a place and watches the one ahead; the head of the line watches nobody.
func (w *waiter) queue(tb testing.TB, same bool) {
	tb.Helper()
	w.own = w.create(tb)
	if same {
		_, _, mine, err := w.conn.GetW(w.own)
		require.NoError(tb, err)
		w.mine = mine
	}
	w.watchAhead(tb, w.list(tb))
}

func (w *waiter) watchAhead(tb testing.TB, names []string) {
	tb.Helper()
	i := slices.Index(names, path.Base(w.own))
	require.GreaterOrEqual(tb, i, 0, "own znode in %v", names)
	w.gone = nil
	if i > 0 {
		_, _, gone, err := w.conn.GetW(w.dir + "/" + names[i-1])
		require.NoError(tb, err)
		w.gone = gone
	}
}

// leave gives the place up.
func (w *waiter) leave(tb testing.TB) {
	tb.Helper()
	w.delete(tb, w.own)
	if w.mine != nil {
		<-w.mine
	}
}

// won waits until the one ahead is gone and looks again, as every recipe that is right does.
func (w *waiter) won(tb testing.TB) {
	tb.Helper()
	for w.gone != nil {
		<-w.gone
		w.watchAhead(tb, w.list(tb))
	}
}

func dirFor(b *testing.B, form string) string {
	return fmt.Sprintf("/bench-%s-%s-%d", strings.ReplaceAll(b.Name(), "/", "-"), form, b.N)
}
