package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
)

// Without the right to list the contenders the error says so, and not that there is no holder;
// nothing is changed.
func TestALackOfRightsIsNotNobody(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		alice := t.Session(session.WithAuth("digest", []byte("alice:secret")))
		for _, path := range []string{"/l", "/e"} {
			must(alice.Create(bubble.Minute(t), path, nil, session.WithNodeACL(session.AuthACL(session.PermAll)...)))
		}
		g := locked(t, alice, "/l")
		e := must(election.New(alice, "/e"))
		term := must(e.Lead(bubble.Minute(t)))
		for _, command := range each(strings.NewReplacer("GRANT", g.Path(), "TERM", term.Path(), "ID", e.Name()).Replace(`lock break /l -y
lock break GRANT -y
lock revoke /l -y
lock revoke GRANT -y
lock show /l --check
lock show GRANT --check
lock ls /l
election break /e -y
election break TERM -y
election transfer /e ID -y
election show /e --check`)) {
			out := exits(t, 4, command...)
			require.Contains(t, out, "needs READ; this session is world:anyone", command)
			require.NotContains(t, out, "nobody", command)
		}
		require.NoError(t, g.Err())
		require.NoError(t, term.Err())
		require.Empty(t, g.Revoked())
	})
}
