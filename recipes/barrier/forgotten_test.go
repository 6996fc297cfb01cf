package barrier_test

import (
	"bytes"
	"log/slog"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/session"
)

// journal is a log that may be read while it is written.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

// warnings are those of the log that name the barrier's path.
func (j *journal) warnings() (all []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for l := range strings.Lines(j.text.String()) {
		if strings.Contains(l, "level=WARN") && strings.Contains(l, "path="+path) {
			all = append(all, l)
		}
	}
	return all
}

// alone is the only party of a barrier, and what is logged of it.
func (w *world) alone(opts ...barrier.Option) (*barrier.Double, *journal) {
	w.Helper()
	log := new(journal)
	return w.double(w.Host("a", session.WithLogger(slog.New(slog.NewTextHandler(log, nil)))), 1, opts...), log
}

// after is the line so many below the caller's, as "forgotten_test.go:line".
func after(lines int) string {
	pc := make([]uintptr, 1)
	caller, _ := runtime.CallersFrames(pc[:runtime.Callers(2, pc)]).Next()
	return "forgotten_test.go:" + strconv.Itoa(caller.Line+lines)
}

// A passage that is never left is logged once, with the place where it was asked for: the others
// wait for it.
func TestAForgottenPassageIsLogged(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		d, log := w.alone()
		at := after(1)
		p, err := d.Enter(w.Context())
		require.NoError(w, err)
		time.Sleep(10*time.Second - time.Millisecond)
		synctest.Wait()
		require.Empty(w, log.warnings())
		time.Sleep(time.Hour)
		require.Len(w, log.warnings(), 1)
		require.Contains(w, log.warnings()[0], "forgotten")
		require.Contains(w, log.warnings()[0], "other parties")
		require.Contains(w, log.warnings()[0], at)
		leave(w, p)
	})
}

// So is one that nobody receives; and one that was received then, and not left, is not taken for
// that.
func TestAPassageThatNobodyReceivesIsLogged(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		d, log := w.alone(barrier.WithWarnAfter(3 * time.Second))
		at := after(1)
		d.Arrive()
		time.Sleep(3100 * time.Millisecond)
		require.Len(w, log.warnings(), 1)
		require.Contains(w, log.warnings()[0], "received")
		require.Contains(w, log.warnings()[0], at)
		leave(w, <-d.Entered())

		d.Arrive()
		p := bubble.Within(w, time.Second, d.Entered())
		time.Sleep(time.Minute)
		require.Len(w, log.warnings(), 2)
		require.Contains(w, log.warnings()[1], "forgotten")
		leave(w, p)
	})
}

// What was left in time, what was lost, and what is meant to last, is not logged. A party that
// waits for others is not either: nobody waits for it.
func TestNothingIsLoggedOfAPassageThatIsNotForgotten(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		d, log := w.alone()
		p, err := d.Enter(w.Context())
		require.NoError(w, err)
		time.Sleep(9 * time.Second)
		require.NoError(w, p.Leave(w.Context()))
		p, err = d.Enter(w.Context())
		require.NoError(w, err)
		require.NoError(w, d.Close(w.Context()))
		require.ErrorIs(w, p.Err(), session.ErrClosed)
		time.Sleep(time.Minute)
		require.Empty(w, log.warnings())

		lasting, log := w.alone(barrier.WithWarnAfter(0))
		p, err = lasting.Enter(w.Context())
		require.NoError(w, err)
		time.Sleep(time.Hour)
		leave(w, p)
		require.Empty(w, log.warnings())

		h := w.Host("c", session.WithLogger(slog.New(slog.NewTextHandler(log, nil))))
		w.asks(w.double(h, 2))
		time.Sleep(time.Hour)
		require.Empty(w, log.warnings())
		_, err = barrier.NewDouble(h.Session, path, 2, barrier.WithWarnAfter(-1))
		require.ErrorContains(w, err, "WithWarnAfter")
	})
}
