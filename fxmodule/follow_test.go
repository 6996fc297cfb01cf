package fxmodule_test

// Follow, FollowTree, Join and RunSite: what follows ZooKeeper while an application runs.
// Helpers: app_test.go.

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/troupe-go/troupe/fxmodule"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/config"
	"github.com/troupe-go/troupe/recipes/group"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
)

// A state that is refused, or over which the function panics, is logged; the next one follows.
func TestFollow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		logs, log := logged()
		var cell *config.Cell[int]
		p := &printer{}
		seen := make(chan int, 10)
		a := app(t, fx.Supply(fxmodule.Config{Embedded: true}, p), logs, fxmodule.Cell("rate", "/rate", config.JSON[int]()),
			fx.Invoke(fx.Annotate(func(c *config.Cell[int]) { cell = c }, fx.ParamTags(`name:"rate"`))),
			fxmodule.Follow[int]("rate", func(_ context.Context, s config.Snapshot[int], given *printer) error {
				require.Same(t, p, given)
				switch {
				case !s.Good():
					return nil
				case s.Value == 1:
					return errors.New("too slow")
				case s.Value == 2:
					panic("too fast")
				}
				seen <- s.Value
				return nil
			}))
		for n := range 3 {
			must(cell.Update(bubble.Minute(t), func(int) (int, error) { return n + 1, nil }))
			synctest.Wait()
		}
		require.Equal(t, 3, <-seen)
		require.Contains(t, log.String(), "too slow")
		require.Contains(t, log.String(), "follow_test.go")
		require.NoError(t, a.Stop(bubble.Minute(t)))
		require.NotContains(t, log.String(), "shut down")
	})
}

// A cell that ends while the application runs shuts it down. (Not in a bubble: fx listens for
// signals, with a channel of the runtime's.)
func TestACellThatEnds(t *testing.T) {
	t.Parallel()
	_, cfg := servers(t)
	var cell *config.Cell[int]
	a := app(t, cfg, fxmodule.Cell("rate", "/rate", config.JSON[int]()),
		fx.Invoke(fx.Annotate(func(c *config.Cell[int]) { cell = c }, fx.ParamTags(`name:"rate"`))),
		fxmodule.Follow[int]("rate", func(context.Context, config.Snapshot[int]) error { return nil }))
	require.NoError(t, cell.Close(bubble.Minute(t)))
	require.Equal(t, 1, bubble.Within(t, time.Minute, a.Wait()).ExitCode)
	require.NoError(t, a.Stop(bubble.Minute(t)))
}

// A tree that is refused, or over which the function panics, is logged; the next one follows. With
// too many znodes the application is shut down.
func TestFollowTree(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		logs, log := logged()
		var s *session.Session
		p := &printer{make(chan string, 10)}
		a := app(t, fx.Supply(fxmodule.Config{Embedded: true}, p), logs, fx.Populate(&s),
			fxmodule.FollowTree("routes", "/", func(_ context.Context, tree *session.Tree, given *printer) error {
				require.Same(t, p, given)
				for path, n := range tree.Changed() {
					switch string(n.Data) {
					case "fails":
						return errors.New("too slow")
					case "panics":
						panic("too fast")
					case "":
						continue // ZooKeeper's own
					}
					given.lines <- path + "=" + string(n.Data)
				}
				return nil
			}, session.WithDepth(1), session.WithMaxNodes(6)))
		for _, data := range []string{"works", "fails", "panics", "works again"} {
			must(s.Create(bubble.Minute(t), "/"+data, []byte(data)))
			synctest.Wait()
		}
		require.Equal(t, "works=works", <-p.lines)
		require.Equal(t, "works again=works again", <-p.lines)
		require.Contains(t, log.String(), "too slow")
		require.Contains(t, log.String(), "follow_test.go")
		require.NotContains(t, log.String(), "shut down")
		must(s.Create(bubble.Minute(t), "/one too many", nil))
		synctest.Wait()
		require.Contains(t, log.String(), `the application is shut down" why="fxmodule.FollowTree(\"routes\") has failed"`)
		require.Contains(t, log.String(), session.ErrTooMany.Error())
		require.NoError(t, a.Stop(bubble.Minute(t)))
		require.Empty(t, p.lines)
	})
}

// A member is there while the application runs, and has left when it has stopped, before the
// session is closed.
func TestJoin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s *session.Session
		members := func() []string {
			names, _, err := s.Children(bubble.Minute(t), "/g")
			require.NoError(t, err)
			return names
		}
		var left []string
		a := app(t, fx.Supply(fxmodule.Config{Embedded: true}), fx.Populate(&s),
			fx.Invoke(func(lc fx.Lifecycle) {
				lc.Append(fx.Hook{OnStart: func(ctx context.Context) error {
					_, err := s.Create(ctx, "/g", nil)
					return err
				}, OnStop: func(context.Context) error { left = members(); return nil }})
			}),
			fxmodule.Group("workers", "/g"), fxmodule.Join("workers", group.Member{Name: "me", Data: []byte("here")}))
		synctest.Wait()
		time.Sleep(time.Second)
		require.Len(t, members(), 1)
		require.NoError(t, a.Stop(bubble.Minute(t)))
		require.Empty(t, left)
	})
}

// A site votes as its function does; one that fails before it has voted aborts.
func TestRunSite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		logs, log := logged()
		var c *twopc.Coordinator
		done := make(chan string, 10)
		a := app(t, fx.Supply(fxmodule.Config{Embedded: true}), logs, fxmodule.Coordinator("books", "/tx"), fxmodule.Site("books", "/tx"),
			fx.Invoke(fx.Annotate(func(books *twopc.Coordinator) { c = books }, fx.ParamTags(`name:"books"`))),
			fxmodule.RunSite("books", func(ctx context.Context, p *twopc.Proposal) error {
				switch string(p.Payload()) {
				case "fails":
					return errors.New("out of paper")
				case "panics":
					panic("out of ink")
				}
				if err := p.VoteCommit(ctx); err != nil {
					return err
				}
				<-p.Decided()
				done <- p.ID()
				return p.Ack(ctx)
			}))
		for _, what := range []struct {
			payload string
			outcome twopc.Outcome
		}{{"fails", twopc.Aborted}, {"works", twopc.Committed}, {"panics", twopc.Aborted}} {
			tx := must(c.Begin(bubble.Minute(t), what.payload, []byte(what.payload), "books"))
			bubble.Within(t, time.Minute, tx.Decided())
			require.Equal(t, what.outcome, tx.Outcome(), what.payload)
		}
		require.Equal(t, "works", bubble.Within(t, time.Minute, done))
		require.Contains(t, log.String(), "out of paper")
		require.Contains(t, log.String(), "out of ink")
		require.NoError(t, a.Stop(bubble.Minute(t)))
		require.NotContains(t, log.String(), "shut down")
	})
}
