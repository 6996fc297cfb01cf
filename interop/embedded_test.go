package interop_test

// The embedded server beside what other libraries ask of a server.

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/zktest"
)

// kazoo reads a server's version, of "envi", and asks for 200 MB at once.
func TestKazooKnowsTheEmbeddedServer(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	s := zktest.Start(t, append(settings, zktest.WithVersion("3.8.4"))...)
	require.NoError(t, s.Create("/large", []byte(strings.Repeat("x", 100_000))))
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
