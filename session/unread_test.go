package session_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// The answer to a create is lost, and the session may not read what it has created: it finds it all
// the same, on each version.
func TestALostCreateOfWhatMayNotBeRead(t *testing.T) {
	t.Parallel()
	secretive := session.WithACL(session.AnyoneACL(session.PermAll &^ session.PermRead)...)
	lose := func(w *world, s *session.Session) {
		lost := false
		w.intercept(func(r *zktest.Request) zktest.Verdict {
			if r.SessionID == id(s) && creates(r) && !lost {
				lost = true
				return zktest.CutAfter
			}
			return zktest.Pass
		})
	}
	for _, version := range zktest.Versions() {
		t.Run("protected, "+version, func(t *testing.T) {
			inBubble(t, func(w *world) {
				s := w.open(secretive)
				lose(w, s)
				path, err := s.Create(w.ctx, "/p-", nil, session.Protected(), session.Ephemeral())
				require.NoError(w, err)
				require.Equal(w, []string{path}, w.ephemerals(id(s)))
			}, zktest.WithVersion(version))
		})
		for name, form := range map[string]znode.Form{"named": znode.Dashed, "of the session": znode.OfSession, "plain": znode.Plain, "alone": znode.Alone} {
			t.Run(name+", "+version, func(t *testing.T) {
				inBubble(t, func(w *world) {
					other := w.open()
					require.NoError(w, other.EnsurePath(w.ctx, "/line"))
					s := w.open(secretive)
					client := w.client(s)
					lose(w, s)
					j := client.join(w, 1, session.Join{Parent: "/line", Name: "lock-", Form: form, Data: []byte("me")})
					require.NoError(w, j.Err)
					require.Equal(w, []string{j.Path}, w.ephemerals(id(s)))
					client.remove(w, 1, j.Path)
					require.Empty(w, w.ephemerals(id(s)))
				}, zktest.WithVersion(version))
			})
		}
	}
}
