package zkserver

import (
	"crypto/sha1" //nolint:gosec // the digest scheme of ZooKeeper is defined by it
	"encoding/base64"
	"strings"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver/tree"
)

// setAuth adds an identity to the connection. A scheme that the server doesn't have ends the
// connection.
func (s *Server) setAuth(c *conn, q *jute.Request) bool {
	p := jute.Reply{Xid: q.Xid}
	if q.Malformed() {
		return false
	}
	switch {
	case q.Scheme == "digest" && q.Data != nil:
		id := Digest(jute.Text(q.Data)) // of characters, as there, not of bytes
		c.who.Add(jute.Identity{Scheme: "digest", ID: id})
		if s.cfg.Super != "" && id == s.cfg.Super {
			c.who.Add(jute.Identity{Scheme: tree.SuperScheme})
		}
	case q.Scheme == "ip": // accepted, and adds nothing: the connection has its address already
	default:
		p.Err = jute.AuthFailed
		c.front.traffic.refused++
	}
	c.answer(q.Op, &p)
	return p.Err == jute.OK
}

// sasl answers like a server on which no SASL is set up: without a token, and it gives no client an
// identity.
func (s *Server) sasl(c *conn, q *jute.Request) bool {
	if q.Malformed() || q.Data == nil {
		return false
	}
	c.answer(q.Op, &jute.Reply{Xid: q.Xid})
	return true
}

// Digest is the id that "user:password" has under the digest scheme.
func Digest(credentials string) string {
	sum := sha1.Sum([]byte(credentials)) //nolint:gosec // as above
	user, _, _ := strings.Cut(credentials, ":")
	return user + ":" + base64.StdEncoding.EncodeToString(sum[:])
}
