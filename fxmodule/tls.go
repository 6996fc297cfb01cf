package fxmodule

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// TLS configures the encryption of connections, if Enabled is set. The server's certificate is
// verified against the name that is dialled, unless ServerName is set.
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
	t.config(f)
}

// config reads the files. The result must not be used if there are faults.
func (t TLS) config(f *faults) *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		f.add("TLS.CAFile", err)
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) && err == nil {
			f.add("TLS.CAFile", fmt.Errorf("%s contains no certificate", t.CAFile))
		}
	}
	if t.CertFile != "" && t.KeyFile != "" {
		pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		f.add("TLS.CertFile", err)
		c.Certificates = []tls.Certificate{pair}
	}
	return c
}
