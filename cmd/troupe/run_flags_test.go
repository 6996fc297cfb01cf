//go:build unix

package main

// The flags --name and --data of lock run and election run: what others see of a contender.

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
		p := startScript(t, server, "echo up; exec sleep 60", append(append([]string{"lock", "run"}, kind...), path, "--name", "orders-7", "--data", "unlock\nnightly")...)
		require.Equal(t, "up", p.line(), &p.log)
		c := awaitContenders(t, s, path, 1)[0]
		require.Equal(t, "orders-7", c.Owner.Name)
		require.Equal(t, "unlock\nnightly", string(c.Data))
		require.False(t, c.Revoked, "its data only begin like a revocation")
	}
	p := startScript(t, server, "echo up; exec sleep 60", "election", "run", "/e", "--name", "orders-7", "--data", "http://a")
	require.Equal(t, "up", p.line(), &p.log)
	all := must(must(election.New(s, "/e")).Candidates(bubble.Minute(t)))
	require.Equal(t, "orders-7", all[0].Owner.Name)
	require.Equal(t, "http://a", string(all[0].Data))
}
