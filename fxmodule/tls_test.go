package fxmodule_test

// TLS: whom the session trusts, and files that are renewed while the application runs.
// Helpers: app_test.go.

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/troupe-go/troupe/fxmodule"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// authority issues certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t *testing.T, name string) authority {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der := must(x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key))
	cert := must(x509.ParseCertificate(der))
	return authority{cert, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

// issue makes a certificate for an address, valid until then.
func (a authority) issue(t *testing.T, ip net.IP, until time.Time) (cert, key []byte) {
	k := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "x"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: until, IPAddresses: []net.IP{ip},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, KeyUsage: x509.KeyUsageDigitalSignature,
	}
	der := must(x509.CreateCertificate(rand.Reader, tmpl, a.cert, &k.PublicKey, a.key))
	pkcs := must(x509.MarshalECPrivateKey(k))
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: pkcs})
}

// front is TLS before a server without it; clients need a certificate.
type front struct {
	net.Listener
	refused chan error // handshakes that failed

	mu     sync.Mutex
	config *tls.Config
	conns  []net.Conn
}

func newFront(t *testing.T, server *zktest.Server) *front {
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	f := &front{Listener: l, refused: make(chan error, 100)}
	var serving sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); f.cut(); serving.Wait() })
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { f.serve(c, server.Servers()[0]) })
		}
	})
	return f
}

// use has new connections secured by a certificate of the first authority, for the address; clients
// need one of the second.
func (f *front) use(t *testing.T, own, clients authority, ip net.IP, until time.Time) {
	pair := must(tls.X509KeyPair(own.issue(t, ip, until)))
	pool := x509.NewCertPool()
	pool.AddCert(clients.cert)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.config = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}
}

func (f *front) serve(c net.Conn, target string) {
	f.mu.Lock()
	secured := tls.Server(c, f.config)
	f.conns = append(f.conns, c)
	f.mu.Unlock()
	defer c.Close()
	if err := secured.Handshake(); err != nil {
		f.refused <- err
		return
	}
	back, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	var copying sync.WaitGroup
	copying.Go(func() { _, _ = io.Copy(secured, back); c.Close() })
	_, _ = io.Copy(back, secured)
	back.Close()
	copying.Wait()
}

// cut closes all connections.
func (f *front) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.conns {
		c.Close()
	}
	f.conns = nil
}

// secured is a configuration whose files are written by the returned function.
func secured(t *testing.T, f *front) (cfg fxmodule.Config, write func(name string, text []byte)) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	cfg = fxmodule.Default(f.Addr().String())
	cfg.TLS = fxmodule.TLS{Enabled: true, CAFile: file("ca"), CertFile: file("cert"), KeyFile: file("key")}
	return cfg, func(name string, text []byte) { require.NoError(t, os.WriteFile(file(name), text, 0o600)) }
}

var loopback = net.IPv4(127, 0, 0, 1)

// Files are renewed while the application runs; the next connection goes by the new ones. A file
// that is broken, or half written, does not replace a good one.
func TestTLSFilesAreRenewed(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t)
	f := newFront(t, server)
	cfg, write := secured(t, f)
	later := time.Now().Add(time.Hour)
	first, second, third := newAuthority(t, "first"), newAuthority(t, "second"), newAuthority(t, "third")
	f.use(t, first, first, loopback, later)
	write("ca", first.pem)
	pair := func(a authority) (cert, key []byte) {
		cert, key = a.issue(t, loopback, later)
		write("cert", cert)
		write("key", key)
		return cert, key
	}
	pair(first)
	logs, log := logged()
	var s *session.Session
	a := app(t, fx.Supply(cfg), logs, fx.Populate(&s))
	reconnects := func() {
		t.Helper()
		f.cut()
		_, _, err := s.Exists(bubble.Minute(t), "/")
		require.NoError(t, err)
	}
	f.use(t, first, second, loopback, later)
	cert, _ := pair(second)
	reconnects()
	require.NotContains(t, log.String(), "TLS")

	write("ca", []byte("-----BEGIN CERTIFICATE-----\nAAAA"))
	write("cert", cert[:len(cert)/2])
	reconnects()
	require.Contains(t, log.String(), cfg.TLS.CAFile)
	require.Contains(t, log.String(), "the TLS files can't be used; the former ones are")
	cert, _ = third.issue(t, loopback, later)
	write("cert", cert) // its key is not there yet
	reconnects()

	f.use(t, third, third, loopback, later)
	write("ca", third.pem)
	pair(third)
	reconnects()
	require.NoError(t, a.Stop(bubble.Minute(t)))
}

// A server is verified by the file of authorities: who issued its certificate, for whom, and until
// when; by address, if that is what is dialled, and otherwise by ServerName.
func TestServersAreVerified(t *testing.T) {
	t.Parallel()
	later, other := time.Now().Add(time.Hour), net.IPv4(127, 0, 0, 2)
	for name, c := range map[string]struct {
		foreign bool
		ip      net.IP
		until   time.Time
		name    string
	}{
		"another authority": {true, loopback, later, ""},
		"another address":   {false, other, later, ""},
		"another name":      {false, loopback, later, "zk1"},
		"expired":           {false, loopback, time.Now().Add(-time.Minute), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFront(t, zktest.Start(t))
			cfg, write := secured(t, f)
			ours := newAuthority(t, "ours")
			own := ours
			if c.foreign {
				own = newAuthority(t, "theirs")
			}
			f.use(t, own, ours, c.ip, c.until)
			cert, key := ours.issue(t, loopback, later)
			write("ca", ours.pem)
			write("cert", cert)
			write("key", key)
			cfg.Startup, cfg.TLS.ServerName = fxmodule.StartupLazy, c.name
			app(t, fx.Supply(cfg))
			require.ErrorContains(t, bubble.Within(t, time.Minute, f.refused), "certificate")
		})
	}
}
