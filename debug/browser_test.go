package debug_test

// The page in a browser: what is in its DOM, that texts from ZooKeeper stay texts, and that it fits
// on a phone.

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/debug"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
	"github.com/troupe-go/troupe/zktest/zksession"
)

// browsers are the programs that will do. `make deps` installs the first one if there is none.
var browsers = []string{"chromium-headless-shell", "chromium", "google-chrome"}

// browse loads a page in a headless browser with a fresh profile, and returns what it prints. That
// there is no browser is a failure.
func browse(t *testing.T, address string, args ...string) string {
	t.Helper()
	var program string
	for _, name := range browsers {
		if path, err := exec.LookPath(name); err == nil && program == "" {
			program = path
		}
	}
	require.NotEmpty(t, program, "no browser here: make deps installs one")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	args = append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--user-data-dir=" + t.TempDir(), "--hide-scrollbars",
	}, args...)
	command := exec.CommandContext(ctx, program, append(args, address)...)
	command.WaitDelay = 10 * time.Second // its children have the pipes
	var problems bytes.Buffer
	command.Stderr = &problems
	dom, err := command.Output()
	require.NoError(t, err, "%s", problems.String())
	return string(dom)
}

// serve serves the page on loopback, beside other pages of the test, and returns its address.
func serve(t *testing.T, page http.Handler, others map[string]string) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/debug/troupe/", page)
	for path, text := range others {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) })
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// holding is a session that waits for a lock at a path, which another one holds, and that one.
func holding(t *testing.T, path, name string) (holder, waiter *session.Session, token int64) {
	t.Helper()
	server := zktest.Start(t)
	holder, waiter = zksession.Open(t, server, session.WithIdentity(name)), zksession.Open(t, server)
	first, err := lock.New(holder, path)
	require.NoError(t, err)
	g, err := first.Lock(bubble.Minute(t))
	require.NoError(t, err)
	next, err := lock.New(waiter, path)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := bubble.Begin(func() error {
		_, err := next.Lock(ctx)
		return err
	})
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	require.Eventually(t, func() bool {
		waits := waiter.Snapshot().Waiting
		return len(waits) == 1 && waits[0].Holder != ""
	}, time.Minute, 10*time.Millisecond)
	return holder, waiter, g.Token()
}

func TestABrowserShowsWhoHoldsALock(t *testing.T) {
	tier.Real(t)
	holder, waiter, token := holding(t, "/locks/orders", "orders-1")
	dom := browse(t, serve(t, debug.Handler(holder, waiter), nil)+"/debug/troupe/", "--dump-dom")
	require.Contains(t, dom, fmt.Sprintf("<td>/locks/orders</td><td></td><td>%d</td>", token))
	require.Regexp(t, `<td>waiting</td><td>[^<]+</td><td>1</td><td><bdi>orders-1 on host `, dom)
	require.Contains(t, dom, "<title>Troupe</title>")
}

// The name of a znode and its data are HTML that would change the title and load from another
// address. A page that shows them as they are does both, so that the test would notice.
func TestHTMLInZooKeeperStaysText(t *testing.T) {
	tier.Real(t)
	var loaded atomic.Int64
	trap := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { loaded.Add(1) }))
	t.Cleanup(trap.Close)
	to, err := url.Parse(trap.URL)
	require.NoError(t, err)
	// A path has no slashes in a name; a browser takes a backslash for one.
	evil := func(name string) string {
		return fmt.Sprintf(`"'><svg onload=document.title='%s'><img src=\\%s\%s>`, name, to.Host, name)
	}
	path, identity := "/locks/"+evil("path"), evil("data")
	holder, waiter, _ := holding(t, path, identity)
	site := serve(t, debug.Handler(holder, waiter), map[string]string{"/unsafe": "<title>Troupe</title><p>" + path + identity})

	unsafe := browse(t, site+"/unsafe", "--dump-dom")
	require.NotContains(t, unsafe, "<title>Troupe</title>")
	require.EqualValues(t, 2, loaded.Swap(0))

	dom := browse(t, site+"/debug/troupe/", "--dump-dom")
	require.Contains(t, dom, "<title>Troupe</title>")
	require.NotRegexp(t, `<(svg|img|script)`, dom)
	require.GreaterOrEqual(t, strings.Count(dom, "&lt;svg onload=document.title='path'&gt;&lt;img src="), 3)
	require.Contains(t, dom, "&lt;svg onload=document.title='data'&gt;&lt;img src=")
	require.Zero(t, loaded.Load())
}

// A page of the same origin frames it as wide as a phone, and says how wide it is inside.
func TestThePageFitsOnAPhone(t *testing.T) {
	tier.Real(t)
	const frame = `<!doctype html><title>frame</title><body><iframe src="%s" style="width:390px;height:800px;border:0"></iframe><script>
onload = () => {
	const inside = document.querySelector("iframe").contentDocument.documentElement
	document.body.dataset.widths = inside.clientWidth + "<" + inside.scrollWidth
}</script>`
	wide := func() session.Snapshot {
		snap, long := busy(), strings.Repeat("long", 60)
		snap.Status.Server, snap.Status.Cause = long, fmt.Errorf("%s", long)
		snap.Held[0].Path, snap.Waiting[1].Holder, snap.Events[0].Name, snap.Actors.Children[0].Name = "/"+long, long, long, long
		return snap
	}
	site := serve(t, debug.HandlerOf(wide, busy), map[string]string{
		"/page":    fmt.Sprintf(frame, "/debug/troupe/"),
		"/wide":    `<!doctype html><body style="margin:0"><div style="width:500px">wide</div>`,
		"/control": fmt.Sprintf(frame, "/wide"),
	})
	widths := regexp.MustCompile(`data-widths="([^"]*)"`)
	require.Equal(t, "390&lt;500", widths.FindStringSubmatch(browse(t, site+"/control", "--dump-dom"))[1]) // a page that does not fit
	require.Equal(t, "390&lt;390", widths.FindStringSubmatch(browse(t, site+"/page", "--dump-dom"))[1])
}

// Ten thousand waits take at most half a second: the best of five answers, since the machine may be
// busy otherwise.
func TestTenThousandWaitsTakeHalfASecond(t *testing.T) {
	tier.Real(t)
	best := time.Hour
	snap := crowd()
	h := debug.HandlerOf(func() session.Snapshot { return snap })
	for range 5 {
		began := time.Now()
		get(t, h, "?all")
		best = min(best, time.Since(began))
	}
	t.Log(best)
	require.LessOrEqual(t, best, 500*time.Millisecond)
}

// The pictures of the docs, which `make screenshots` writes. They are not compared: fonts differ.
func TestScreenshots(t *testing.T) {
	tier.Real(t)
	site := serve(t, debug.HandlerOf(busy), nil) + "/debug/troupe/"
	for name, args := range map[string][]string{
		"page":       {"--window-size=1100,1080", "--blink-settings=preferredColorScheme=1"},
		"page-phone": {"--window-size=390,844", "--blink-settings=preferredColorScheme=0"}, // in the dark
	} {
		file := filepath.Join(t.TempDir(), name+".png")
		browse(t, site, append(args, "--screenshot="+file)...)
		picture, err := os.ReadFile(file)
		require.NoError(t, err)
		image, err := png.Decode(bytes.NewReader(picture))
		require.NoError(t, err)
		corner, _, _, _ := image.At(1, image.Bounds().Dy()-1).RGBA()
		require.Equal(t, name == "page-phone", corner < 0x8000, "%s: dark or not", name)
		if *redraw {
			require.NoError(t, os.WriteFile("../docs/"+name+".png", picture, 0o644))
		}
	}
}
