package fxmodule_test

// A second session: what is on which, and how both end.
// Helpers: app_test.go.

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/fx"

	"github.com/troupe-go/troupe/fxmodule"
	"github.com/troupe-go/troupe/fxmodule/fxtest"
	"github.com/troupe-go/troupe/health"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/config"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/group"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// both are the sessions of an application with two.
type both struct {
	fx.In
	Here  *session.Session
	There *session.Session `name:"eu"`
}

// twice is an application's part with two sessions, and a Config under the second one's name.
func twice(opts ...session.Option) fx.Option {
	return fx.Options(fx.Supply(fxmodule.Default("us.example:2181"), fx.Annotate(fxmodule.Default("eu.example:2181"), fx.ResultTags(`name:"eu"`))),
		fxmodule.NamedSession("eu", opts...))
}

// The options in On use the session that it names, all others the module's. Faults of one leave the
// other alone; both are closed with the application.
func TestASecondSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		here, there := zktest.Start(t), zktest.Start(t)
		leads := make(chan *election.Term, 2)
		lead := func(ctx context.Context, term *election.Term, s *session.Session) error {
			require.Same(t, s, term.Session())
			leads <- term
			<-ctx.Done()
			return nil
		}
		did := make(chan string, 10)
		var s both
		var parts struct {
			fx.In
			Queue *queue.Queue       `name:"letters"`
			Rate  *config.Cell[int]  `name:"rate"`
			Books *twopc.Coordinator `name:"books"`
		}
		meters, reader := metered()
		a := app(t, twice(session.WithTimeout(7*time.Second)), meters, fxtest.Server(here), fxtest.ServerOf("eu", there), fx.Populate(&s, &parts),
			fxmodule.Election("rates", "/e"), fxmodule.RunLeader("rates", lead),
			fxmodule.On("eu",
				fxmodule.Election("euro", "/e"), fxmodule.RunLeader("euro", lead),
				fxmodule.Queue("letters", "/q"), fxmodule.Consume("letters", 1, func(_ context.Context, i *queue.Item) error {
					did <- string(i.Data())
					return nil
				}),
				fxmodule.Cell("rate", "/rate", config.JSON[int]()), fxmodule.Follow[int]("rate", func(_ context.Context, state config.Snapshot[int]) error {
					if state.Good() {
						did <- "a new rate"
					}
					return nil
				}),
				fxmodule.FollowTree("rates", "/rates", func(_ context.Context, tree *session.Tree) error {
					if n, is := tree.At("dollar"); is {
						did <- string(n.Data)
					}
					return nil
				}),
				fxmodule.Coordinator("books", "/tx"), fxmodule.Site("books", "/tx"), fxmodule.RunSite("books", func(ctx context.Context, p *twopc.Proposal) error {
					did <- string(p.Payload())
					return p.VoteCommit(ctx)
				}),
				fxmodule.Group("workers", "/g"), fxmodule.Join("workers", group.Member{Name: "me"})))
		require.ElementsMatch(t, []*session.Session{s.Here, s.There}, []*session.Session{(<-leads).Session(), (<-leads).Session()})
		require.Equal(t, 7*time.Second, s.There.Status().Timeout)
		ctx := bubble.Minute(t)
		must(parts.Queue.Put(ctx, []byte("Dear Ann")))
		require.Equal(t, "Dear Ann", <-did)
		must(parts.Rate.Update(ctx, func(int) (int, error) { return 7, nil }))
		require.Equal(t, "a new rate", <-did)
		require.NoError(t, s.There.EnsurePath(ctx, "/rates"))
		must(s.There.Create(ctx, "/rates/dollar", []byte("a dear dollar")))
		require.Equal(t, "a dear dollar", <-did)
		must(parts.Books.Begin(ctx, "one", []byte("a payment"), "books"))
		require.Equal(t, "a payment", <-did)
		synctest.Wait()
		names, _, err := s.There.Children(ctx, "/")
		require.NoError(t, err)
		require.Subset(t, names, []string{"e", "q", "rate", "rates", "tx", "g"})
		names, _, err = s.Here.Children(ctx, "/")
		require.NoError(t, err)
		require.ElementsMatch(t, names, []string{"e", "zookeeper"})

		var measured []string
		each(t, reader, func(m metricdata.Metrics) {
			if m.Name == "troupe.session.connected" {
				for _, p := range m.Data.(metricdata.Gauge[int64]).DataPoints {
					name, _ := p.Attributes.Value("troupe.session.name")
					measured = append(measured, name.AsString())
				}
			}
		})
		require.ElementsMatch(t, []string{"", "eu"}, measured)
		heal := there.Partition(s.There.Status().SessionID)
		time.Sleep(time.Minute)
		require.Equal(t, http.StatusOK, readiness(t, s.Here))
		require.Equal(t, http.StatusServiceUnavailable, readiness(t, s.There))
		heal()
		time.Sleep(time.Minute)
		require.NoError(t, a.Stop(bubble.Minute(t)))
		require.Empty(t, here.Sessions())
		require.Empty(t, there.Sessions())
	})
}

func readiness(t *testing.T, s *session.Session) int {
	t.Helper()
	w := httptest.NewRecorder()
	health.Ready(s).ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/", nil))
	return w.Code
}
