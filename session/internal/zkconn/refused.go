package zkconn

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"github.com/troupe-go/troupe/internal/jute"
)

// rights are those that operations need: on the znode, or, where that is created or deleted, on its
// parent.
var rights = map[jute.Op][2]string{
	jute.OpCreate: {"create below", "CREATE"}, jute.OpCreate2: {"create below", "CREATE"}, jute.OpCreateContainer: {"create below", "CREATE"},
	jute.OpCreateTTL: {"create below", "CREATE"}, jute.OpDelete: {"delete below", "DELETE"}, jute.OpCheck: {"read", "READ"},
	jute.OpGetData: {"read", "READ"}, jute.OpExists: {"read", "READ"}, jute.OpGetChildren: {"read", "READ"}, jute.OpGetChildren2: {"read", "READ"},
	jute.OpSetData: {"write", "WRITE"}, jute.OpGetACL: {"read the ACL of", "READ or ADMIN"}, jute.OpSetACL: {"set the ACL of", "ADMIN"},
}

// verdict is that of a code on an operation: the request, or a part of it. A refusal names the
// znode, the right, and as whom the session has asked.
func (r *request) verdict(ask *jute.Request, code jute.Code) error {
	right, known := rights[ask.Op]
	if code != jute.NoAuth || !known {
		return verdict(code)
	}
	at, as := ask.Path, "world:anyone"
	if strings.HasSuffix(right[0], " below") {
		at = path.Dir(at)
	}
	for _, c := range r.as {
		as += ", " + c.Scheme
		if user, _, found := bytes.Cut(c.Secret, []byte(":")); found && c.Scheme == "digest" {
			as += ":" + string(user)
		}
	}
	return fmt.Errorf("%w: %s %s needs %s; this session is %s", ErrNoAuth, right[0], at, right[1], as)
}
