package main

// The service as it is, as several processes in virtual time, under faults.

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/troupe-go/troupe/fxmodule"
	"github.com/troupe-go/troupe/fxmodule/fxtest"
	"github.com/troupe-go/troupe/zktest"
)

// process is one of the service's.
type process struct {
	view
	stop func()
}

type view struct {
	fx.In
	Parts Parts
	HTTP  http.Handler
	Debug operators
}

// start starts a process that sends its letters to out.
func start(t *testing.T, srv *zktest.Server, out mail) *process {
	t.Helper()
	var p process
	app := fx.New(service(fxmodule.Default("zk.example:2181")), fxtest.Server(srv),
		fx.Replace(out, slog.New(slog.DiscardHandler)), fx.Populate(&p.view))
	require.NoError(t, app.Start(t.Context()))
	p.stop = sync.OnceFunc(func() { require.NoError(t, app.Stop(context.Background())) })
	t.Cleanup(p.stop)
	synctest.Wait()
	return &p
}

// into has letters sent to a channel.
func into(sent chan<- string) mail {
	return func(_ context.Context, text string) error { sent <- text; return nil }
}

// do is a request to the process, and the status of its answer.
func (p *process) do(method, path, body string) int {
	w := httptest.NewRecorder()
	p.HTTP.ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), method, path, strings.NewReader(body)))
	synctest.Wait()
	return w.Code
}

func (p *process) probes() []int {
	return []int{p.do("GET", "/ready", ""), p.do("GET", "/live", ""), p.do("GET", "/leading", "")}
}

// What is for operators alone has an address of its own, and is not among what the service serves.
func TestThePageIsNotServedToAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := start(t, zktest.Start(t), into(nil))
		require.Equal(t, http.StatusNotFound, p.do("GET", "/debug/troupe/", ""))
		require.Equal(t, http.StatusNotFound, p.do("GET", "/metrics", ""))
		p.HTTP = p.Debug
		require.Equal(t, http.StatusOK, p.do("GET", "/debug/troupe/", ""))
		w := httptest.NewRecorder()
		p.Debug.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
		require.Contains(t, w.Body.String(), "\ntroupe_session_connected{")
	})
}

// A letter is sent with the settings of the moment; those that are no settings are refused.
func TestLettersAndSettings(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv, sent := zktest.Start(t), make(chan string, 10)
		p := start(t, srv, into(sent))
		require.Equal(t, http.StatusAccepted, p.do("POST", "/letters", "Ann."))
		require.Equal(t, "Dear Ann.", <-sent)
		require.Equal(t, http.StatusAccepted, p.do("PUT", "/settings", `{"greeting": "Hello"}`))
		require.Equal(t, http.StatusBadRequest, p.do("PUT", "/settings", `{nonsense`))
		require.Equal(t, http.StatusAccepted, p.do("POST", "/letters", "Bob."))
		require.Equal(t, "Hello Bob.", <-sent)
		p.stop()
		require.Empty(t, srv.Sessions())
	})
}

// One process reminds, each minute: another one within a session timeout if the leader is cut off,
// and at once if it stops. The one that is cut off is ready for half a minute, and not restarted.
func TestOneProcessReminds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv, sent := zktest.Start(t), make(chan string, 10)
		first, second := start(t, srv, into(sent)), start(t, srv, into(sent))
		time.Sleep(2*time.Minute + time.Second)
		require.NotNil(t, first.Parts.Reminder.Term())
		require.Len(t, sent, 2)

		heal := srv.Partition(first.Parts.Session.Status().SessionID)
		require.Equal(t, http.StatusServiceUnavailable, first.do("POST", "/letters", "lost?"))
		require.Equal(t, http.StatusAccepted, second.do("POST", "/letters", "not lost."))
		time.Sleep(15 * time.Second)
		require.Nil(t, first.Parts.Reminder.Term())
		require.NotNil(t, second.Parts.Reminder.Term())
		require.Equal(t, []int{200, 200, 503}, first.probes())
		require.Equal(t, []int{200, 200, 200}, second.probes())
		time.Sleep(30 * time.Second)
		require.Equal(t, []int{503, 200, 503}, first.probes())
		heal()
		time.Sleep(15 * time.Second)
		require.Equal(t, 200, first.do("GET", "/ready", ""))
		require.Nil(t, first.Parts.Reminder.Term())

		second.stop()
		synctest.Wait() // no time passes
		require.NotNil(t, first.Parts.Reminder.Term())
	})
}

// A stop finishes the letter in hand. One in the hands of a process that is cut off is sent by
// another.
func TestLettersInHand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv, taken, sent := zktest.Start(t), make(chan string, 10), make(chan string, 10)
		cutOff := start(t, srv, func(ctx context.Context, _ string) error { <-ctx.Done(); return context.Cause(ctx) })
		require.Equal(t, http.StatusAccepted, cutOff.do("POST", "/letters", "Ann."))
		heal := srv.Partition(cutOff.Parts.Session.Status().SessionID)
		other := start(t, srv, func(_ context.Context, text string) error {
			taken <- text
			time.Sleep(5 * time.Second)
			sent <- text
			return nil
		})
		require.Equal(t, "Dear Ann.", <-taken)
		require.Empty(t, sent)
		other.stop()
		require.Len(t, sent, 1)
		heal()
	})
}

// lines is a log, line by line.
type lines chan string

func (l lines) Write(line []byte) (int, error) { l <- string(line); return len(line), nil }

// The page and metrics can be read until the work in hand has ended.
func TestThePageOutlastsTheWork(t *testing.T) {
	t.Parallel()
	log, sending, answered := make(lines, 100), make(chan struct{}), make(chan error, 1)
	var page string
	app := fx.New(serving("127.0.0.1:0", "127.0.0.1:0", service(fxmodule.Default("zk.example:2181"))), fxtest.Server(zktest.Start(t)),
		fx.Replace(slog.New(slog.NewTextHandler(log, nil)), mail(func(ctx context.Context, _ string) error {
			close(sending)
			<-ctx.Done() // the stop waits for it no longer
			r, err := http.Get("http://" + page + "/metrics")
			if err == nil {
				err = r.Body.Close()
			}
			answered <- err
			return nil
		})))
	require.NoError(t, app.Start(t.Context()))
	addressOf := func(which string) (address string) {
		for address == "" {
			_, address, _ = strings.Cut(strings.TrimSpace(<-log), "msg="+which+" address=")
		}
		return address
	}
	page = addressOf(`"listening for operators"`)
	r, err := http.Post("http://"+addressOf("listening")+"/letters", "", strings.NewReader("Ann."))
	require.NoError(t, err)
	require.NoError(t, r.Body.Close())
	<-sending
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	require.NoError(t, app.Stop(ctx))
	require.NoError(t, <-answered)
}
