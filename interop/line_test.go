package interop_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
)

// each runs a test for each of their recipes, on paths of its own.
func each[T any](t *testing.T, theirs map[string]T, f func(t *testing.T, theirs T)) {
	t.Helper()
	for name, one := range theirs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, one)
		})
	}
}

// pathFor is a path that no other test uses.
func pathFor(t *testing.T) string {
	t.Helper()
	return "/" + strings.NewReplacer("/", "_", "#", "_", " ", "_", "'", "").Replace(t.Name())
}

// outcome is what came of an acquisition.
type outcome struct {
	held bool
	err  error
}

// begin acquires in the background.
func begin(c contender) <-chan outcome {
	done := make(chan outcome, 1)
	go func() { // ends with the acquisition, which is bounded
		held, err := c.acquire(patience)
		if !held && err == nil {
			err = fmt.Errorf("%s: stuck", c.name())
		}
		done <- outcome{held, err}
	}()
	return done
}

func holds(t *testing.T, c contender) {
	t.Helper()
	require.NoError(t, (<-begin(c)).err)
}

// inLine waits until n contenders stand there.
func inLine(t *testing.T, s *session.Session, path string, n int) {
	t.Helper()
	ctx, cancel := patiently()
	defer cancel()
	require.NoError(t, awaitLine(ctx, s, path, fmt.Sprint(n)), "%d in %v", n, standing(t, s, path))
}

// empty waits until nobody stands there: some delete in the background.
func empty(t *testing.T, s *session.Session, path string) {
	t.Helper()
	inLine(t, s, path, 0)
}

// arrivals lines everybody up, and then each releases: the next that arrived must be the next that
// holds.
func arrivals(t *testing.T, s *session.Session, path string, contenders ...contender) {
	t.Helper()
	var waiting []<-chan outcome
	for i, c := range contenders {
		waiting = append(waiting, begin(c))
		inLine(t, s, path, i+1)
		if f, ok := c.(*foreign); ok && i > 0 {
			f.ready(t)
		}
	}
	for i, c := range contenders {
		require.NoError(t, (<-waiting[i]).err)
		inLine(t, s, path, len(contenders)-i)
		for j := range contenders[i+1:] {
			require.Empty(t, waiting[i+1+j], "%s holds while %s does", contenders[i+1+j].name(), c.name())
		}
		require.NoError(t, c.release())
	}
	empty(t, s, path)
}

// givesUp has the middle one of three leave the line: the last must go on waiting for the holder.
func givesUp(t *testing.T, s *session.Session, path string, holder, middle, last contender) {
	t.Helper()
	holds(t, holder)
	gaveUp := make(chan outcome, 1)
	go func() { // ends with the acquisition, which is bounded
		held, err := middle.acquire(2 * time.Second)
		gaveUp <- outcome{held, err}
	}()
	inLine(t, s, path, 2)
	waiting := begin(last)
	inLine(t, s, path, 3)
	require.Equal(t, outcome{}, <-gaveUp)
	inLine(t, s, path, 2)
	require.NoError(t, s.Sync(t.Context(), path))
	require.Empty(t, waiting, "%s holds while %s does", last.name(), holder.name())
	require.NoError(t, holder.release())
	require.NoError(t, (<-waiting).err)
	require.NoError(t, last.release())
	empty(t, s, path)
}

// dies ends the holder's session, as the end of its process does.
func dies(t *testing.T, s *session.Session, path string, holder, next contender) {
	t.Helper()
	holds(t, holder)
	waiting := begin(next)
	inLine(t, s, path, 2)
	require.NoError(t, holder.end())
	require.NoError(t, (<-waiting).err)
	require.NoError(t, next.release())
	empty(t, s, path)
}
