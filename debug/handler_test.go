package debug_test

// The page as a whole, of fixed snapshots and of sessions: what it shows, what it leaves out, and
// how it is asked for.

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/debug"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
)

func TestMain(m *testing.M) { tier.Main(m) }

var redraw = flag.Bool("redraw", false, "write the golden pages, and the pictures of docs")

// get is the answer to a GET of the page with that query.
func get(t testing.TB, h http.Handler, query string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/debug/troupe/"+query, nil))
	return w
}

// ago is that long before the fixed snapshots.
func ago(d time.Duration) time.Time { return time.Now().Add(-d) }

// busy is a session with something in each section.
func busy() session.Snapshot {
	const orders, asked = "/shop/orders", "main.go:41"
	return session.Snapshot{
		Time: time.Now(),
		Status: session.Status{
			State: session.Connected, Epoch: 2, SessionID: 0x100a5, Timeout: 10 * time.Second, TrustedUntil: time.Now().Add(6500 * time.Millisecond),
			Server: "zk-1.zk:2181", Address: "10.0.0.1:2181", Cause: session.ErrExpired,
		},
		Recipes: []session.RecipeState{
			{Recipe: "queue", Path: "/shop/parcels", State: "paused"},
			{Recipe: "lock", Path: orders, State: "holding"},
			{Recipe: "queue", Path: "/shop/mail", State: "consuming"},
			{Recipe: "queue", Path: "/shop/mail", State: "consuming"},
			{Recipe: "queue", Path: "/shop/returns", State: "paused"},
			{Recipe: "queue", Path: "/shop/returns", State: "consuming"},
		},
		Held: []session.Held{
			{Recipe: "election", Path: "/shop/leader", Name: "shop-1", Token: 4294967301, Since: ago(90 * time.Minute), Asked: asked},
			{Recipe: "queue", Path: "/shop/mail", Name: "item-7", Token: 71, Since: ago(3 * time.Second), Attempt: 4},
			{Recipe: "lock", Path: orders, Token: 4294967299, Since: ago(41 * time.Hour), Asked: asked, Unreceived: true},
			{Recipe: "queue", Path: "/shop/mail", Name: "item-6", Token: 70, Since: ago(9 * time.Second), Attempt: 1},
		},
		Waiting: []session.Waiting{
			{Recipe: "lock", Path: "/shop/stock", Since: ago(200 * time.Millisecond), State: "entering", Asked: asked},
			{
				Recipe: "lock", Path: orders, Since: ago(12 * time.Second), State: "waiting", Ahead: 1, Asked: asked, Holder: "shop-1 on host a (pid 8)", Behind: 3,
				Looked: ago(1500 * time.Millisecond),
			},
		},
		Requests: []session.Requests{{Op: "create", Active: 2, Ended: []session.RequestsEnded{{UpTo: time.Second, Count: 3, Took: time.Second}}}, {Op: "getData"}, {Op: "sync", Active: 1}},
		Watches:  5,
		Actors: actors.Node{Name: "session", Children: []actors.Node{
			{Name: "lock:" + orders, Kind: "lock", Phase: "holding", Children: []actors.Node{{Name: "reader", Phase: "reading"}}},
			{Name: "queue:/shop/mail", Kind: "queue", Phase: "failed", Restarts: 3},
		}},
		Events: []session.Event{
			{Kind: session.EventConnected, Time: ago(time.Minute), To: "connected", SessionID: 0x100a5, Epoch: 2, Took: 1234567 * time.Microsecond},
			{Kind: session.EventStalled, Time: ago(30 * time.Second), Took: 1700 * time.Millisecond},
			{Kind: session.EventStalled, Time: ago(20 * time.Second), Took: 300 * time.Millisecond},
			{Kind: session.EventState, Time: ago(10 * time.Second), Recipe: "lock", Path: orders, From: "waiting", To: "holding"},
			{Kind: session.EventRestarted, Time: ago(5 * time.Second), Recipe: "queue", Path: "/shop/mail", Attempt: 2},
			{Kind: session.EventLost, Time: ago(time.Second), Recipe: "lock", Path: orders, Token: 4294967298, Took: time.Hour, Err: errors.New("the session expired")},
		},
		ItemEvents: []session.Event{
			{Kind: session.EventItemPut, Time: ago(15 * time.Second), Recipe: "queue", Path: "/shop/mail", Name: "item-1", Attempt: 7, Took: 2 * time.Millisecond},
			{Kind: session.EventItemPut, Time: ago(14 * time.Second), Recipe: "queue", Path: "/shop/mail", Name: "item-8", Attempt: 1, To: "full", Err: queue.ErrFull},
			{Kind: session.EventItemClaimed, Time: ago(9 * time.Second), Recipe: "queue", Path: "/shop/mail", Name: "item-6", Token: 70, Attempt: 1},
		},
		Dropped: 12,
	}
}

// empty is a session that has just been made.
func empty() session.Snapshot { return session.Snapshot{Time: time.Now()} }

// golden compares a text with a file of testdata. `go test ./debug -redraw` writes it.
func golden(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *redraw {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), text)
}

func TestThePageAndItsJSON(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // for the time
		h := debug.HandlerOf(busy, empty, nil)
		golden(t, "page.html", get(t, h, "").Body.String())
		var indented strings.Builder
		encoder := json.NewEncoder(&indented)
		encoder.SetIndent("", "  ")
		require.NoError(t, encoder.Encode(json.RawMessage(get(t, h, "?format=json").Body.Bytes())))
		golden(t, "page.json", indented.String())
	})
	require.Contains(t, get(t, debug.Handler(), "").Body.String(), "no session")
	require.Contains(t, get(t, debug.Handler(nil), "?refresh=").Body.String(), "No session")
}

func TestWhatMayBeAsked(t *testing.T) {
	t.Parallel()
	const html, plain = "text/html; charset=utf-8", "text/plain; charset=utf-8"
	for name, row := range map[string]struct {
		method, query string
		code          int
		kind, has     string
	}{
		"the page":         {"GET", "", 200, html, `<link rel="stylesheet" href="?style">`},
		"its head":         {"HEAD", "", 200, html, ""},
		"the style sheet":  {"GET", "?style", 200, "text/css; charset=utf-8", "prefers-color-scheme: dark"},
		"JSON":             {"GET", "?format=json", 200, "application/json", `{"Time":"`},
		"all":              {"GET", "?all", 200, html, `<a href="?all&amp;refresh=2">`},
		"refreshed":        {"GET", "?all&refresh=2", 200, html, `<meta http-equiv="refresh" content="2">`},
		"at the longest":   {"GET", "?refresh=3600", 200, html, `content="3600"`},
		"too long a time":  {"GET", "?refresh=3601", 400, plain, `refresh: "3601"`},
		"no time":          {"GET", "?refresh=0", 400, plain, `refresh: "0" is no number of seconds from 1 to 3600`},
		"no number":        {"GET", "?refresh=2%3Burl%3Dx", 400, plain, `refresh: "2;url=x"`},
		"a strange format": {"GET", "?format=<b>", 400, plain, `format: "<b>" is not json`},
		"a long one":       {"GET", "?format=" + strings.Repeat("x", 1000), 400, plain, `format: "` + strings.Repeat("x", 80) + `" is not json`},
		"a write":          {"POST", "?all", 405, plain, "only be read"},
		"a removal":        {"DELETE", "", 405, plain, "only be read"},
		"options":          {"OPTIONS", "", 405, plain, "only be read"},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), row.method, "/debug/troupe/"+row.query, nil)
		debug.Handler(nil).ServeHTTP(w, r)
		require.Equal(t, row.code, w.Code, name)
		require.Equal(t, row.kind, w.Header().Get("Content-Type"), name)
		require.Contains(t, w.Body.String(), row.has, name)
		require.Equal(t, "default-src 'none'; style-src 'self'; frame-ancestors 'self'", w.Header().Get("Content-Security-Policy"), name)
		require.Equal(t, "no-store", w.Header().Get("Cache-Control"), name)
		require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"), name)
		require.Empty(t, w.Header().Get("Set-Cookie"), name)
		require.Equal(t, row.code == 405, w.Header().Get("Allow") == "GET, HEAD", name)
		require.NotContains(t, w.Body.String(), "<script", name)
	}
}

func TestTheDefaultMuxDoesNotHaveIt(t *testing.T) {
	t.Parallel()
	_, pattern := http.DefaultServeMux.Handler(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/debug/troupe/", nil))
	require.Empty(t, pattern)
}

func TestASectionHas500RowsTheOldestFirst(t *testing.T) {
	t.Parallel()
	h := debug.HandlerOf(func() (snap session.Snapshot) {
		for i := range 502 {
			since := ago(time.Duration(i) * time.Second) // the oldest last
			path := fmt.Sprintf("/%d", i)
			snap.Held = append(snap.Held, session.Held{Recipe: "lock", Path: path, Since: since}, session.Held{Recipe: "queue", Path: path, Since: since})
			snap.Waiting = append(snap.Waiting, session.Waiting{Path: path, Since: since})
			snap.Actors.Children = append(snap.Actors.Children, actors.Node{Name: path})
		}
		return snap
	})
	type section struct {
		Rows []struct{ Path, Name string }
		Left int
	}
	for query, left := range map[string]int{"?format=json": 2, "?all&format=json": 0} {
		var page struct {
			Sessions []struct{ Held, Waiting, Queues, Actors section }
		}
		require.NoError(t, json.Unmarshal(get(t, h, query).Body.Bytes(), &page))
		is := page.Sessions[0]
		for name, s := range map[string]section{"held": is.Held, "waiting": is.Waiting, "queues": is.Queues} {
			require.Len(t, s.Rows, 502-left, name)
			require.Equal(t, left, s.Left, name)
			require.Equal(t, "/501", s.Rows[0].Path, name)
			require.Equal(t, fmt.Sprintf("/%d", left), s.Rows[501-left].Path, name)
		}
		require.Len(t, is.Actors.Rows, 503-left-min(left, 1)) // and the root
	}
	require.Equal(t, 4, strings.Count(get(t, h, "").Body.String(), `rows are left out: <a href="?all">`))
	require.NotContains(t, get(t, h, "?all").Body.String(), "left out")
}

// What cannot be written is no fault of who asked.
func TestAPageThatCannotBeMadeIsAnErrorOfTheServer(t *testing.T) {
	t.Parallel()
	late := func() session.Snapshot {
		return session.Snapshot{Events: []session.Event{{Time: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)}}} // which JSON does not have
	}
	require.Equal(t, http.StatusInternalServerError, get(t, debug.HandlerOf(late), "?format=json").Code)
}

// The page says it as one reads it: whose number is which, and an event's day.
func TestThePageReadsAsItIsMeant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // for the time
		body := get(t, debug.HandlerOf(busy), "").Body.String()
		for _, want := range []string{
			"<dd>2 create, 1 sync under way", "<dt>last problem<dd>the ZooKeeper session has expired",
			"<bdi>shop-1 on host a (pid 8)</bdi>; others waiting: 3 (seen 1.5s ago)", "<td>1999-12-31 23:59:59.000<td>lost",
			"stalled<td><td><td><td>for 1.7s", "token 70 attempt 1", "<td>item-1<td>after 2ms 7 items", "<td>item-8<td><bdi>full</bdi> 1 item error: ", "<td>restarted<td>queue<td>/shop/mail<td><td>restart 2",
			"token 4294967298 after 1h0m0s error: the session expired", "refresh every 2 s",
		} {
			require.Contains(t, body, want)
		}
		require.NotContains(t, body, "idle")
		time.Sleep(7 * time.Second)
		idle := busy()
		idle.Status.TrustedUntil = ago(time.Second)
		require.Contains(t, get(t, debug.HandlerOf(func() session.Snapshot { return idle }), "").Body.String(), "0s of 10s, until 00:00:06.000 (runs down while the session is idle)")
		require.NotContains(t, get(t, debug.HandlerOf(busy), "?format=json").Body.String(), "Ended") // whose durations are no seconds
	})
}

// Each text of a snapshot is escaped, quoted if it could hide another, and cut.
func TestTextsAreNotTrusted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`<script>alert("x")</script>`:  `&lt;script&gt;alert(&#34;x&#34;)&lt;/script&gt;`,
		"a\u202eb":                     `&#34;a\u202eb&#34;`,
		"a\x1b[2J":                     `&#34;a\x1b[2J&#34;`,
		"\xff":                         `&#34;\xff&#34;`,
		"two\nlines":                   `&#34;two\nlines&#34;`,
		"öß 漢字":                        "öß 漢字",
		strings.Repeat("é", 200):       strings.Repeat("é", 200),
		strings.Repeat("é", 201):       strings.Repeat("é", 200) + "… (402 bytes)",
		strings.Repeat("\xff", 1<<20):  `&#34;` + strings.Repeat(`\xff`, 200) + `&#34;… (1048576 bytes)`,
		strings.Repeat("<", 300) + "p": strings.Repeat("&lt;", 200) + "… (301 bytes)",
	} {
		for name, row := range map[string]struct {
			snap  session.Snapshot
			shown int
		}{
			"held":    {session.Snapshot{Held: []session.Held{{Recipe: text, Path: text, Name: text, Asked: text}}}, 4},
			"waiting": {session.Snapshot{Waiting: []session.Waiting{{Recipe: text, Path: text, Name: text, State: text, Asked: text, Holder: text}}}, 6},
			"queues":  {session.Snapshot{Held: []session.Held{{Recipe: "queue", Path: text, Name: text}}}, 2},
			"actors":  {session.Snapshot{Actors: actors.Node{Name: text, Kind: text, Phase: text}}, 3},
			"events":  {session.Snapshot{Events: []session.Event{{Recipe: text, Path: text, Name: text, From: text, To: text, Err: errors.New(text)}}}, 6},
			"session": {session.Snapshot{Status: session.Status{Server: text, Address: text, Cause: errors.New(text)}}, 2},
		} {
			body := get(t, debug.HandlerOf(func() session.Snapshot { return row.snap }), "").Body.String()
			require.Equal(t, row.shown, strings.Count(body, want), "%s: %.40q", name, text)
			require.Less(t, len(body), 30_000, name)
		}
	}
}

// What is held, waited for and over, of sessions in virtual time.
func TestThePageOfSessions(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(w *bubble.World) {
		a, b := w.Session(session.WithIdentity("<b>orders-1</b>"), session.WithAuth("digest", []byte("ann:secret"))), w.Session()
		contend := func(s *session.Session) <-chan error {
			l, err := lock.New(s, "/locks/<i>orders")
			require.NoError(w, err)
			ended := bubble.Begin(func() error {
				_, err := l.Lock(w.Context())
				return err
			})
			time.Sleep(5 * time.Second)
			return ended
		}
		require.NoError(w, <-contend(a))
		contend(a)
		contend(b)
		token := a.Snapshot().Held[0].Token
		page := get(w, debug.Handler(a, b), "").Body.String()
		require.Contains(w, page, fmt.Sprintf("<td>lock<td>/locks/&lt;i&gt;orders<td><td>%d<td>", token))
		require.Contains(w, page, "&lt;b&gt;orders-1&lt;/b&gt;")
		require.NotContains(w, page, "<i>")
		require.NotContains(w, page, "<b>orders")
		require.NotContains(w, page+get(w, debug.Handler(a, b), "?format=json").Body.String(), "secret")
		var is struct {
			Sessions []struct {
				Held struct {
					Rows []struct {
						Token  int64
						Behind int
						Asked  string
					}
				}
				Waiting struct{ Rows []struct{ Age float64 } }
			}
		}
		require.NoError(w, json.Unmarshal(get(w, debug.Handler(a, b), "?format=json").Body.Bytes(), &is))
		require.Len(w, is.Sessions[0].Held.Rows, 1)
		require.Equal(w, token, is.Sessions[0].Held.Rows[0].Token)
		require.Equal(w, 1, is.Sessions[0].Held.Rows[0].Behind)
		require.Contains(w, is.Sessions[0].Held.Rows[0].Asked, "handler_test.go:")
		require.Len(w, is.Sessions[1].Waiting.Rows, 1)
		require.GreaterOrEqual(w, is.Sessions[1].Waiting.Rows[0].Age, 5.0)

		require.NoError(w, a.Close(w.Context()))
		require.Contains(w, get(w, debug.Handler(a), "").Body.String(), `<b class="closed">closed</b>`)
		require.Contains(w, get(w, debug.Handler(w.Unconnected()), "").Body.String(), `<b class="connecting">connecting</b>, epoch 0`)
	})
}

// A queue is shown as long as this process takes items from it, also if it has none in hand.
func TestThePageOfAQueueThatIsPaused(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(w *bubble.World) {
		s := w.Session()
		q, err := queue.New(s, "/mail")
		require.NoError(w, err)
		c, err := q.Consume()
		require.NoError(w, err)
		taken := bubble.Begin(func() error {
			_, err := q.Take(w.Context())
			return err
		})
		shows := func(state string) {
			time.Sleep(time.Second)
			page := get(w, debug.Handler(s), "").Body.String()
			require.Contains(w, page, "<td>/mail<td>"+state+"<td>0<td>–<td>–<td>–\n")
			require.Contains(w, page, "<td>queue<td>/mail<td><td>"+state+"<td>")
			for _, kind := range []string{"queue consumer", "queue take"} {
				require.Equal(w, state == "paused", strings.Contains(page, kind+":/mail<td>"+kind+"<td>paused<td>0\n"), kind)
			}
		}
		shows("consuming")
		require.NoError(w, q.Pause(w.Context()))
		shows("paused")
		require.NoError(w, q.Resume(w.Context()))
		shows("consuming")
		require.NoError(w, c.Close(w.Context()))
		_, err = q.Put(w.Context(), nil, queue.WithID("letter-7"))
		require.NoError(w, err)
		require.NoError(w, <-taken)
		require.Contains(w, get(w, debug.Handler(s), "").Body.String(), "<td>/mail<td>consuming<td>1<td>1<td>letter-7<td>")
	})
}

// Ten thousand waits are at most 5 MB: 500 bytes for each.
func TestTenThousandWaitsAreFiveMegabytes(t *testing.T) {
	t.Parallel()
	require.LessOrEqual(t, get(t, debug.HandlerOf(crowd), "?all").Body.Len(), 5_000_000)
	require.LessOrEqual(t, get(t, debug.HandlerOf(crowd), "?all&format=json").Body.Len(), 5_000_000)
}

// crowd is a session with ten thousand waits, each of a lock of its own.
func crowd() session.Snapshot {
	snap := session.Snapshot{Time: time.Now()}
	for i := range 10_000 {
		path := fmt.Sprintf("/services/shop/locks/order-%06d", i)
		snap.Waiting = append(snap.Waiting, session.Waiting{
			Recipe: "lock", Path: path, Since: ago(time.Minute), State: "waiting", Ahead: 3, Asked: "/src/shop/orders/worker.go:141",
			Holder: "shop-7 on host shop-7.internal (pid 812)", Behind: 4, Looked: ago(time.Second),
		})
		snap.Actors.Children = append(snap.Actors.Children, actors.Node{Name: "lock:" + path, Kind: "lock", Phase: "waiting"})
	}
	return snap
}
