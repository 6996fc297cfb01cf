// What a function of the application's does hangs and loses nothing of Troupe's, however it ends.
// The table has each function that docs/architecture.md lists, and each way to end.
package callbacks_test

import (
	"log/slog"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestMain(m *testing.M) { tier.Main(m) }

// The ways in which a function ends.
const panics, exits, never, slow = "it panics", "it ends its goroutine", "it never returns", "it is slow"

// functions are those of the list, by their names there.
var functions = map[string]func(w *world){
	"session.WithLogger": sessionLogger, "slog.Default": defaultLogger, "actors.WithLogger": actorsLogger,
	"session.WithDialer": dialer, "session.WithTLS": secure,
	"Read": connection(of{read: true}), "Write": connection(of{write: true}), "Close": connection(of{close: true}),
	"config.Codec.Decode":   decode,
	"recipe.Config.Machine": callback("Machine"), "recipe.Config.Standing": callback("Standing"), "recipe.Config.Perform": callback("Perform"),
	"recipe.Config.Ended": callback("Ended"), "machine.Machine": callback("Step"),
	"actors.Spec.New": actor("New"), "actors.Spec.Ended": actor("Ended"), "actors.Receiver": actor("Receive"), "Stopping": actor("Stopping"),
	"lock.Lock.Do": do, "lock.Multi.Do": doMulti, "election.Election.Run": run, "config.Cell.Update": update, "config.Codec.Encode": encode,
	"queue.WithBackoff":  backoff,
	"fxmodule.RunLeader": runLeader,
	"fxmodule.Consume":   consume,
	"fxmodule.Queue":     consumeWithBackoff,
	"fxmodule.Follow":    follow,
	"fxmodule.RunSite":   runSite,
}

// servers is how many more than one there are: nothing is lost with a connection that is silent if
// there is another server.
var servers = map[string]int{"Read": 1, "Write": 1}

func TestFunctionsOfTheApplication(t *testing.T) { //nolint:paralleltest // slog.Default is everybody's
	page, err := os.ReadFile("../../docs/architecture.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "## Functions of the application\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	var listed, tested []string
	for line := range strings.Lines(section) {
		if first, _, row := strings.Cut(strings.TrimPrefix(line, "|"), "|"); row {
			for _, name := range regexp.MustCompile("`(.*?)`").FindAllStringSubmatch(first, -1) {
				listed = append(listed, name[1])
			}
		}
	}
	for name := range functions {
		tested = append(tested, name)
	}
	require.ElementsMatch(t, listed, tested)
	for _, name := range slices.Sorted(slices.Values(tested)) {
		for _, way := range []string{panics, exits, never, slow} {
			t.Run(name+", "+way, func(t *testing.T) {
				if name != "slog.Default" {
					t.Parallel()
				}
				bubble.Run(t, func(b *bubble.World) {
					w := &world{World: b, way: way, letGo: make(chan struct{})}
					system := actors.New(actors.WithLogger(slog.New(slog.NewTextHandler(&w.log, nil))))
					b.System = func() *actors.System { return system }
					defer func() {
						close(w.letGo)
						time.Sleep(3 * time.Minute) // all that was left alone ends
					}()
					functions[name](w)
					require.Positive(w, w.acted.Load(), "it was called")
				}, zktest.WithServers(servers[name]+1))
			})
		}
	}
}

// world is where a function ends in its way, once each time it is armed.
type world struct {
	*bubble.World
	way   string
	log   bubble.Log
	armed atomic.Bool
	acted atomic.Int32
	letGo chan struct{}
}

// act is the function, or what it begins with.
func (w *world) act() {
	if !w.armed.CompareAndSwap(true, false) {
		return
	}
	w.acted.Add(1)
	switch w.way {
	case panics:
		panic("on purpose")
	case exits:
		runtime.Goexit()
	case never:
		<-w.letGo
	case slow:
		time.Sleep(time.Minute)
	}
}

// named fails unless the log says what the function did.
func (w *world) named() {
	w.Helper()
	text := map[string]string{panics: "on purpose", exits: "runtime.Goexit was called", never: "does not return"}[w.way]
	require.NotZero(w, w.log.Count(text), "%q is not in the log", text)
}

// held is a lock that the session holds.
func (w *world) held(s *session.Session, path string) *lock.Grant {
	w.Helper()
	l, err := lock.New(s, path)
	require.NoError(w, err)
	g, err := l.Lock(bubble.Minute(w))
	require.NoError(w, err)
	return g
}

// sound fails if the session has lost anything.
func (w *world) sound(s *session.Session, g *lock.Grant) {
	w.Helper()
	require.NoError(w, s.Sync(bubble.Minute(w), "/"))
	require.EqualValues(w, 1, s.Status().Epoch)
	require.NoError(w, g.Err())
}

// closes closes a session, which takes at most so long, and leaves nothing at the server.
func (w *world) closes(s *session.Session, most time.Duration) {
	w.Helper()
	began := time.Now()
	require.NoError(w, s.Close(bubble.Minute(w)))
	require.LessOrEqual(w, time.Since(began), most)
	require.Empty(w, w.Server.Sessions())
}
