package session_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// secured puts TLS in front of a server, and returns its address and what its clients trust.
func secured(t *testing.T, server *zktest.Server) (addr string, roots *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	roots = x509.NewCertPool()
	roots.AddCert(cert)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
	})
	require.NoError(t, err)
	var all sync.WaitGroup
	t.Cleanup(func() {
		_ = listener.Close()
		all.Wait()
	})
	target := server.Servers()[0]
	all.Go(func() { // ends with the listener
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() { relay(client, target) }) // ends when either side hangs up
		}
	})
	return listener.Addr().String(), roots
}

func relay(client net.Conn, target string) {
	defer client.Close()
	upstream, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer upstream.Close()
	var back sync.WaitGroup
	back.Go(func() { // ends when the server hangs up, or the client has
		_, _ = io.Copy(client, upstream)
		_ = client.Close()
	})
	_, _ = io.Copy(upstream, client)
	_ = upstream.Close()
	back.Wait()
}

func TestTLS(t *testing.T) {
	t.Parallel()
	addr, roots := secured(t, zktest.Start(t))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	s, err := session.Open(ctx, []string{addr}, session.WithTLS(&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}))
	require.NoError(t, err)
	_, err = s.Create(ctx, "/secret", []byte("x"))
	require.NoError(t, err)
	data, _, err := s.Get(ctx, "/secret")
	require.NoError(t, err)
	require.Equal(t, "x", string(data))
	require.NoError(t, s.Close(ctx))
}

// A server that cannot be verified is not talked to.
func TestTLSVerifiesTheServer(t *testing.T) {
	t.Parallel()
	addr, _ := secured(t, zktest.Start(t))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := session.Open(ctx, []string{addr}, session.WithTLS(&tls.Config{MinVersion: tls.VersionTLS12}))
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
