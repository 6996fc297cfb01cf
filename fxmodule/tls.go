package fxmodule

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
)

// TLS configures the encryption of connections, if Enabled is set. The server's certificate has to
// be for ServerName; default the name of the server in Servers. The files are read again for each
// connection: they may be renewed while the application runs. If a file can't be used, since it is
// broken or written only in part, that is logged, and its former contents are used.
type TLS struct {
	Enabled    bool   `env:"ENABLED"     json:"enabled,omitempty"    yaml:"enabled"`
	CAFile     string `env:"CA_FILE"     json:"caFile,omitempty"     yaml:"caFile"`   // PEM; default the system's authorities
	CertFile   string `env:"CERT_FILE"   json:"certFile,omitempty"   yaml:"certFile"` // PEM, of this client; with KeyFile
	KeyFile    string `env:"KEY_FILE"    json:"keyFile,omitempty"    yaml:"keyFile"`  // PEM
	ServerName string `env:"SERVER_NAME" json:"serverName,omitempty" yaml:"serverName"`
}

func (t TLS) validate(f *faults) {
	if !t.Enabled && t != (TLS{}) {
		f.add("TLS.Enabled", errors.New("not set, but other fields of TLS are"))
	}
	if t.CertFile == "" && t.KeyFile != "" {
		f.add("TLS.CertFile", errors.New("empty, but KeyFile is given"))
	}
	if t.CertFile != "" && t.KeyFile == "" {
		f.add("TLS.KeyFile", errors.New("empty, but CertFile is given"))
	}
	_, err := t.authorities()
	f.add("TLS.CAFile", err)
	_, err = t.pair()
	f.add("TLS.CertFile", err)
}

// authorities are those of the file; nil, without a file, are the system's.
func (t TLS) authorities() (*x509.CertPool, error) {
	if t.CAFile == "" {
		return nil, nil
	}
	text, err := os.ReadFile(t.CAFile)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s contains no certificate", t.CAFile)
	}
	return pool, nil
}

// pair is this client's certificate; an empty one if there is none.
func (t TLS) pair() (*tls.Certificate, error) {
	if t.CertFile == "" || t.KeyFile == "" {
		return new(tls.Certificate), nil
	}
	pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
	return &pair, err
}

// Client returns the configuration of a client's connections. It reads the files now, and again at
// each handshake. An error names a file that can't be used now; later ones are logged.
func (t TLS) Client(log *slog.Logger) (*tls.Config, error) {
	authorities, wrong := latest(log, t.authorities)
	pair, wrong2 := latest(log, t.pair)
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return pair(), nil }
	if t.CAFile != "" {
		c.InsecureSkipVerify = true // VerifyConnection does it instead, with the present authorities
		c.VerifyConnection = func(s tls.ConnectionState) error {
			opts := x509.VerifyOptions{Roots: authorities(), DNSName: s.ServerName, Intermediates: x509.NewCertPool()}
			for _, cert := range s.PeerCertificates[1:] {
				opts.Intermediates.AddCert(cert)
			}
			_, err := s.PeerCertificates[0].Verify(opts)
			return err
		}
	}
	return c, errors.Join(wrong, wrong2)
}

// latest returns the result of read, or, if that fails, the result before.
func latest[T any](log *slog.Logger, read func() (T, error)) (func() T, error) {
	var mu sync.Mutex
	last, err := read()
	return func() T {
		mu.Lock()
		defer mu.Unlock()
		v, err := read()
		if err != nil {
			log.Warn("the TLS files can't be used; the former ones are", "error", err)
			return last
		}
		last = v
		return v
	}, err
}
