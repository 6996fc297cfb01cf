package recipe_test

// Possessions that others wait for: the warnings in the log, and what the errors of waits in the
// same process say of them. Helpers: harness_test.go.

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/zktest"
)

// The messages of the warnings.
const (
	notReceived = "what was won is not received, and others wait for it"
	heldForLong = "something is held for long, and others wait for it"
)

// here is where it is called.
func here() recipe.Site { return recipe.Caller() }

// A possession that others wait for is logged at certain ages, with the call that asked for it, as
// long as it is not received, or, if it is not meant to last, as it is held. The error of a wait in
// this process names that call too, whether there are warnings or not.
func TestAPossessionThatOthersWaitForIsLoggedAndNamed(t *testing.T) {
	t.Parallel()
	type row struct {
		warnAfter       time.Duration
		received, lasts bool
		logs            string // "": nothing
		names           string
	}
	for name, row := range map[string]row{
		"not received":                  {3 * time.Second, false, false, notReceived, "won, and not received,"},
		"not received, meant to last":   {3 * time.Second, false, true, notReceived, "won, and not received,"},
		"received":                      {3 * time.Second, true, false, heldForLong, "held"},
		"received, meant to last":       {3 * time.Second, true, true, "", "held"},
		"not received, without warning": {0, false, false, "", "won, and not received,"},
		"received, without warning":     {0, true, false, "", "held"},
	} {
		t.Run(name, func(t *testing.T) {
			var log bubble.Log
			inBubble(t, func(g *ground) {
				var waiting atomic.Int64
				waiting.Store(2)
				i := g.claims(recipe.ClaimsConfig{
					WarnAfter: row.warnAfter, Waiting: func(context.Context) (int, error) { return int(waiting.Load()), nil },
				})
				rival := g.claims(recipe.ClaimsConfig{Machine: newWaiting})
				asked := recipe.Asked{At: here(), Lasts: row.lasts}
				i.Stand(asked)
				time.Sleep(500 * time.Millisecond) // so that no check below is at the instant of a warning
				if row.received {
					<-i.Won()
				}
				logged := func(times int) {
					g.Helper()
					if row.logs == "" {
						times = 0
					}
					require.Len(g, log.Warnings("/queue"), times)
				}
				began := time.Now()
				for n, age := range []time.Duration{3 * time.Second, 10 * time.Second, time.Minute, 10 * time.Minute, 20 * time.Minute} {
					time.Sleep(time.Until(began.Add(age - time.Second)))
					logged(n)
					time.Sleep(time.Second)
					logged(n + 1)
				}
				waiting.Store(0)
				time.Sleep(10 * time.Minute)
				logged(5)
				if row.logs != "" {
					for _, part := range []string{row.logs, "recipe=lock", "waiting=2", "for=3s", asked.At.String()} {
						require.Contains(g, log.Warnings("/queue")[0], part)
					}
				}
				for _, other := range []*recipe.Claims[*recipe.Possession]{i, rival} {
					// 30m: twenty until the last check, and ten more.
					require.Regexp(g, row.names+` in this process for 30m\S*, asked for at `+asked.At.String()+`$`, g.gaveUp(other, time.Second).Error())
				}

				waiting.Store(2)
				require.NoError(g, i.StandDown(g.ctx))
				time.Sleep(time.Hour)
				logged(5)
				require.NotContains(g, g.gaveUp(rival, time.Second).Error(), "in this process")
			}, log.Option())
		})
	}
}

// A possession after a loss is logged at Info, as the end of that warning. After a release, or if
// the intent was withdrawn meanwhile, it is logged as usual.
func TestAPossessionAfterALossIsLogged(t *testing.T) {
	var log bubble.Log
	inBubble(t, func(g *ground) {
		i := g.wrapped(recipe.ClaimsConfig{}, func(p *recipe.Possession) *recipe.Possession {
			l, level := p.Won(recipe.Logger(g.sess), slog.LevelDebug)
			l.Log(g.ctx, level, "it is won")
			return p
		})
		win := func() *recipe.Possession { i.Stand(recipe.Asked{}); return <-i.Won() }
		require.NoError(g, win().Release(g.ctx))
		p := win()
		require.Zero(g, log.Count("it is won"))
		require.NoError(g, g.srv.Znodes(g).Delete(p.Path()))
		<-p.Done()
		p = win()
		require.Equal(g, 1, log.Count(`level=INFO msg="it is won" after=`))
		require.NoError(g, p.Release(g.ctx))

		p = win()
		lift := g.srv.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpCreate2 {
				return zktest.Fail(zktest.ErrThrottled)
			}
			return zktest.Pass
		})
		time.Sleep(2 * time.Second) // the same warning is logged once a second
		require.NoError(g, g.srv.Znodes(g).Delete(p.Path()))
		<-p.Done()
		withdrawn := bubble.Begin(func() error { return i.StandDown(g.ctx) })
		time.Sleep(time.Second)
		lift()
		require.NoError(g, bubble.Within(g, time.Minute, withdrawn))
		win()
		require.Equal(g, 2, log.Count("a possession is lost"))
		require.Equal(g, 1, log.Count("it is won"))
	}, log.Option())
}

// An instance at the path of a queue warns of that, once. Other znodes with some of the names of a
// queue's are no queue.
func TestAQueueAtThePathOfAnInstanceIsAWarning(t *testing.T) {
	var log bubble.Log
	inBubble(t, func(g *ground) {
		for _, name := range []string{"", "/items", "/claims"} {
			require.NoError(g, g.srv.Znodes(g).Create("/queue"+name, nil))
		}
		i := g.claims(recipe.ClaimsConfig{})
		require.NoError(g, g.claim(i).Release(g.ctx))
		require.Empty(g, log.Warnings("/queue"))
		q, err := queue.New(g.sess, "/queue")
		require.NoError(g, err)
		_, err = q.Put(g.ctx, nil)
		require.NoError(g, err)
		for range 2 {
			require.NoError(g, g.claim(i).Release(g.ctx))
		}
		require.Len(g, log.Warnings("/queue"), 1)
		require.Contains(g, log.Warnings("/queue")[0], `"a queue has the same path" recipe=lock`)
	}, log.Option())
}
