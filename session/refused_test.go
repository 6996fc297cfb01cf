package session_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
)

// A refusal names the znode, the right, and as whom the session has asked; never a secret.
func TestARefusalNamesTheRightThatIsMissing(t *testing.T) {
	inBubble(t, func(w *world) {
		owner := w.open(session.WithAuth("digest", []byte("owner:hush")))
		w.create(owner, "/printer", nil, session.NodeACL(session.AuthACL(session.PermAll)...))
		w.create(owner, "/printer/a", nil, session.NodeACL(session.AuthACL(session.PermAll)...))
		s := w.open(session.WithNamespace("/printer"), session.WithAuth("digest", []byte("alice:hunter2")), session.WithAuth("ip", []byte("secret")))
		for name, want := range map[string]string{
			"create": "create below /printer needs CREATE", "protected": "create below /printer needs CREATE",
			"get": "read /printer/a needs READ", "exists": "read /printer/a needs READ", "children": "read /printer/a needs READ", "set": "write /printer/a needs WRITE",
			"delete": "delete below /printer needs DELETE", "set acl": "set the ACL of /printer/a needs ADMIN",
			"multi": "read /printer/a needs READ",
		} {
			err := operations(s, "/a")[name](w.ctx)
			require.ErrorIs(w, err, session.ErrNoAuth, name)
			require.ErrorContains(w, err, ": "+want+"; this session is world:anyone, digest:alice, ip", name)
			require.NotContains(w, err.Error(), "hunter2", name)
			require.NotContains(w, err.Error(), "secret", name)
		}
		results, err := s.Multi(w.ctx, session.DeleteOp("/a", -1))
		require.ErrorContains(w, err, "delete below /printer needs DELETE")
		require.ErrorContains(w, results[0].Err, "delete below /printer needs DELETE")
	})
}
