package zkserver

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // the digest scheme of ZooKeeper is defined by it
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

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

// RequireAuth has the server refuse the requests of clients that have not shown an identity, as a
// real one does with enforce.auth.enabled, which goes by the scheme alone: that is no id here. No
// scheme ends it.
func (a Admin) RequireAuth(scheme, id string) error {
	switch {
	case scheme == "digest" && strings.Contains(id, ":"):
		id = Digest(id)
	case scheme != "ip" && (id != "" || scheme != "digest" && scheme != ""): // id may be a password, which is not repeated
		return errors.New(`it takes "digest" and "user:password", or "ip" and an address, or either without an id`)
	}
	a.Server.mu.Lock()
	defer a.Server.mu.Unlock()
	a.Server.required = jute.Identity{Scheme: scheme, ID: id}
	return nil
}

// refused reports whether a request is not served since the client has not shown who it is. It does
// so with a setAuth.
func (c *conn) refused(op jute.Op) bool {
	need := c.s.required
	return need.Scheme != "" && op != jute.OpSetAuth && op != jute.OpSASL && !slices.ContainsFunc(c.who.IDs(), func(id jute.Identity) bool {
		return id.Scheme == need.Scheme && (need.ID == "" || id.ID == need.ID)
	})
}

// StartTLS has new connections speak TLS, on all fronts. It returns the configuration of a client,
// which trusts this server alone. A further call changes nothing.
func (a Admin) StartTLS() (*tls.Config, error) {
	a.Server.mu.Lock()
	defer a.Server.mu.Unlock()
	if a.Server.tls == nil {
		public, private, noKey := ed25519.GenerateKey(rand.Reader)
		// It is valid by every clock: that of a testing/synctest bubble begins in the year 2000.
		template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0), DNSNames: []string{"localhost"}}
		der, unsigned := x509.CreateCertificate(rand.Reader, template, template, public, private)
		certificate, unread := x509.ParseCertificate(der)
		if err := errors.Join(noKey, unsigned, unread); err != nil {
			return nil, fmt.Errorf("certificate: %w", err)
		}
		pair, trust := tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}, x509.NewCertPool()
		trust.AddCert(certificate)
		a.Server.tls = &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: trust, MinVersion: tls.VersionTLS12}
	}
	return &tls.Config{RootCAs: a.Server.tls.RootCAs, ServerName: "localhost", MinVersion: tls.VersionTLS12}, nil
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
