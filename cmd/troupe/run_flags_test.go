//go:build unix

package main

// The flags that lock run and election run have in common: what others see of who waits and holds,
// how long it waits, and what is said of that.

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/zktest"
)

func TestARunSaysWhoseItIsAndWhatFor(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t)
	s := client(t, server.Servers()[0])
	for _, kind := range [][]string{nil, {"--shared"}, {"-n", "1"}} {
		path := "/a" + string(rune('0'+len(kind)))
		p := begin(t, server, "echo up; exec sleep 60", append(append([]string{"lock", "run"}, kind...), path, "--name", "orders-7", "--data", "nightly")...)
		require.Equal(t, "up", p.line(), &p.log)
		c := standing(t, s, path, 1)[0]
		require.Equal(t, "orders-7", c.Owner.Name)
		require.Equal(t, "nightly", string(c.Data))
	}
	p := begin(t, server, "echo up; exec sleep 60", "election", "run", "/e", "--name", "orders-7", "--data", "http://a")
	require.Equal(t, "up", p.line(), &p.log)
	e, err := election.New(s, "/e")
	require.NoError(t, err)
	all, err := e.Candidates(bubble.Minute(t))
	require.NoError(t, err)
	require.Equal(t, "orders-7", all[0].Owner.Name)
	require.Equal(t, "http://a", string(all[0].Data))
}

func TestARunWaitsNoLongerThanItIsTold(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t)
	s, _ := taken(t, server, "/held")
	e, err := election.New(s, "/led")
	require.NoError(t, err)
	_, err = e.Lead(bubble.Minute(t))
	require.NoError(t, err)
	at := "--servers=" + server.Servers()[0]
	for name, c := range map[string]struct {
		args   []string
		status int
		says   string // "": nothing at all
	}{
		"led":               {[]string{"election", "run", "/led", at, "--try"}, 124, "another leads"},
		"led for long":      {[]string{"election", "run", "/led", at, "--timeout", "10ms"}, 124, "not got in the time of --timeout"},
		"led, quiet":        {[]string{"election", "run", "/led", at, "--try", "--quiet"}, 124, ""},
		"held, quiet":       {[]string{"lock", "run", "/held", at, "--try", "--quiet"}, 124, ""},
		"held for long, -E": {[]string{"lock", "run", "/held", at, "--timeout", "10ms", "--quiet", "-E", "7"}, 7, ""},
		"leads at once":     {[]string{"election", "run", "/free", at, "--try"}, 0, ""},
		"leads in time":     {[]string{"election", "run", "/free2", at, "--timeout", "1m"}, 0, ""},
		"--try --timeout":   {[]string{"election", "run", "/led", "--try", "--timeout", "1s"}, 125, "--try and --timeout: only one"},
		"no time":           {[]string{"election", "run", "/led", "--timeout", "0s"}, 125, "--timeout: must be positive"},
		"a bad name":        {[]string{"lock", "run", "/free", at, "--name", "a\x1b"}, 125, "not printable"},
		"bad data":          {[]string{"lock", "run", "/free", at, "--data", "unlock"}, 125, "must not begin with"},
		"an error, quiet":   {[]string{"lock", "run", "free", at, "--quiet"}, 125, "not absolute"},
		"no server, quiet":  {[]string{"lock", "run", "/g", "--servers", "127.0.0.1:1", "--connect-timeout", "50ms", "--quiet"}, 125, "no connection to ZooKeeper for "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := begun(t, "", append(c.args, "--", "true")...)
			_, status := p.end()
			require.Equal(t, c.status, status, "%v", &p.log)
			require.Contains(t, p.log.String(), c.says)
			if c.says == "" {
				require.Empty(t, p.log.String())
			}
			require.NotContains(t, p.log.String(), "level=")
		})
	}
}
