package logs_test

// A log handler of the application's gets the lines in order, with their times; whatever it does,
// no other goroutine waits for it.

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/logs"
)

// handler records what it was given, and does something first.
type handler struct {
	*got
	does  func(method, text string)
	attrs string
}

type got struct {
	mu      sync.Mutex
	records []slog.Record
	lines   []string
}

func (h handler) Enabled(_ context.Context, level slog.Level) bool {
	h.does("Enabled", level.String())
	return level >= slog.LevelInfo
}

func (h handler) Handle(_ context.Context, r slog.Record) error {
	h.does("Handle", r.Message)
	h.mu.Lock()
	defer h.mu.Unlock()
	r.Attrs(func(a slog.Attr) bool {
		h.attrs += " " + a.String()
		return true
	})
	h.records = append(h.records, r)
	h.lines = append(h.lines, r.Message+h.attrs)
	return nil
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.does("WithAttrs", attrs[0].Key)
	h.attrs += " " + attrs[0].String()
	return h
}

func (h handler) WithGroup(name string) slog.Handler {
	h.does("WithGroup", name)
	h.attrs += " " + name
	return h
}

// with is a logger of a handler that calls does at each of its methods, with that method's name.
func with(does func(method, text string)) (*got, *slog.Logger) {
	h := handler{got: new(got), does: does}
	return h.got, logs.New(h)
}

func TestLinesKeepTheirOrderAndTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		got, log := with(func(method, _ string) {
			if method == "Handle" {
				time.Sleep(time.Second)
			}
		})
		var want []string
		var at []time.Time
		for i := range 20 {
			of := log
			if i%3 == 0 {
				of = log.With("a", i).WithGroup("g")
				want = append(want, fmt.Sprintf("line %d a=%d g n=%d", i, i, i))
			} else {
				want = append(want, fmt.Sprintf("line %d n=%d", i, i))
			}
			of.Debug("not enabled")
			of.Info(fmt.Sprint("line ", i), "n", i)
			at = append(at, time.Now())
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, want, got.lines)
		for i, r := range got.records {
			require.True(t, at[i].Equal(r.Time), i)
		}
	})
}

// Whatever a method does, goroutines that log go on at once, and so does the one that waits in the
// end.
func TestAHandlerKeepsNobodyFromAnything(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"Enabled", "Handle", "WithAttrs", "WithGroup"} {
		for name, does := range map[string]func(letGo chan struct{}){
			"panics": func(chan struct{}) { panic("on purpose") }, "ends its goroutine": func(chan struct{}) { runtime.Goexit() },
			"blocks": func(letGo chan struct{}) { <-letGo },
		} {
			t.Run(method+" "+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					letGo := make(chan struct{})
					var once atomic.Bool
					got, log := with(func(of, text string) {
						if of == method && text != "before" && text != "WARN" && once.CompareAndSwap(false, true) {
							does(letGo)
						}
					})
					log.Warn("before")
					synctest.Wait()
					began := time.Now()
					for range 3 {
						log.With("a", 1).WithGroup("g").Info("info")
						log.With("a", 1).WithGroup("g").Warn("warning")
					}
					require.LessOrEqual(t, time.Since(began), 20*time.Millisecond)
					began = time.Now()
					logs.Wait(log)
					require.LessOrEqual(t, time.Since(began), 100*time.Millisecond)
					close(letGo)
					synctest.Wait()
					log.Error("after")
					logs.Wait(log)
					require.Contains(t, got.lines, "before")
					require.Contains(t, got.lines, "warning a=1 g")
					require.Equal(t, "after", got.lines[len(got.lines)-1])
				})
			})
		}
	}
}

// Lines that a blocked handler can't take are dropped, and counted where they are missing.
func TestWhatIsDroppedIsCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		letGo := make(chan struct{})
		got, log := with(func(method, _ string) {
			if method == "Handle" {
				<-letGo
			}
		})
		for i := range 1501 {
			log.Error(fmt.Sprint(i))
			synctest.Wait() // the first is being handled
		}
		close(letGo)
		synctest.Wait()
		log.Error("after")
		logs.Wait(log)
		require.Len(t, got.lines, 1+1000+1+1)
		require.Equal(t, []string{
			"999", "1000", "lines of the log were dropped: its handler is slow, or has blocked dropped=500", "after",
		}, got.lines[999:])
	})
}

// A line that ends a warning is written where warnings are, at Info; nothing else below them is.
func TestTheEndOfAWarningIsWrittenWhereWarningsAre(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := handler{got: new(got), does: func(string, string) {}}
		log := logs.Warnings(h)
		log.Info("news")
		log.Warn("an alarm")
		for range 3 { // limited in number, as warnings are
			logs.Ends(log).With("a", 1).WithGroup("g").Info("its end", "n", 2)
		}
		time.Sleep(2 * time.Second)
		require.Equal(t, []string{"an alarm", "its end a=1 g n=2", "its end a=1 g n=2 repeated=2"}, h.lines)
		require.Equal(t, slog.LevelInfo, h.records[1].Level)
	})
}
