package interop_test

// The servers that tests run on, and sessions and proxies with them; and what other libraries ask
// of the embedded one.

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// settings make the in-process server like the real one that package ensemble starts.
var settings = []zktest.Option{zktest.WithTick(200 * time.Millisecond), zktest.WithSessionTimeouts(400*time.Millisecond, time.Minute)}

// onBoth runs a test on a real server, which tests share: each has paths of its own; and in soak on
// the in-process server too.
func onBoth(t *testing.T, f func(t *testing.T, address string)) {
	t.Helper()
	t.Run("zktest", func(t *testing.T) {
		tier.Soak(t)
		t.Parallel()
		f(t, zktest.Start(t, settings...).Servers()[0])
	})
	t.Run("real", func(t *testing.T) {
		t.Parallel()
		e := must(realServer())
		f(t, e.Servers()[0])
	})
}

var (
	started    *ensemble.Ensemble // by realServer, for stopShared
	realServer = sync.OnceValues(func() (*ensemble.Ensemble, error) {
		e, err := ensemble.New(1)
		started = e
		return e, err
	})
)

// open is a session of Troupe's.
func open(t *testing.T, address string, opts ...session.Option) *session.Session {
	t.Helper()
	return bubble.Open(t, []string{address}, append([]session.Option{session.WithTimeout(20 * time.Second)}, opts...)...)
}

// through is a proxy in front of the server.
func through(t *testing.T, address string) *ensemble.Proxy {
	t.Helper()
	proxy := must(ensemble.NewProxy(address))
	t.Cleanup(proxy.Close)
	return proxy
}

// kazoo reads a server's version, of "envi", and asks for 200 MB at once.
func TestKazooKnowsTheEmbeddedServer(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	s := zktest.Start(t, append(settings, zktest.WithVersion("3.8.4"))...)
	require.NoError(t, s.Znodes(t).Create("/large", []byte(strings.Repeat("x", 100_000))))
	d, name := kazooDriver.get(t), t.Name()
	ask := func(verb string, args ...string) []string {
		t.Helper()
		r := d.call(name, verb, args...)
		require.Empty(t, r.err)
		return r.values
	}
	ask("open", "kazoo", s.Servers()[0], "20000")
	require.Equal(t, []string{"3.8.4"}, ask("version"))
	require.Equal(t, []string{"200000000"}, ask("pipeline", "/large", "2000"))
	ask("close")
}
