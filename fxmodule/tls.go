package fxmodule

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// TLS is how connections are encrypted. They are if Enabled is set; the server's certificate is verified, by the name that is dialled unless ServerName is set.
type TLS struct {
	Enabled    bool   `env:"ENABLED"     json:"enabled,omitempty"    yaml:"enabled"`
	CAFile     string `env:"CA_FILE"     json:"caFile,omitempty"     yaml:"caFile"`   // PEM; default the system's authorities
	CertFile   string `env:"CERT_FILE"   json:"certFile,omitempty"   yaml:"certFile"` // PEM, of this client; with KeyFile
	KeyFile    string `env:"KEY_FILE"    json:"keyFile,omitempty"    yaml:"keyFile"`  // PEM
	ServerName string `env:"SERVER_NAME" json:"serverName,omitempty" yaml:"serverName"`
}

func (t TLS) validate() []error {
	var wrong []error
	if !t.Enabled && t != (TLS{}) {
		wrong = append(wrong, errors.New("fxmodule: Config.TLS.Enabled: it is not set, but other fields of TLS are"))
	}
	if (t.CertFile == "") != (t.KeyFile == "") {
		wrong = append(wrong, errors.New("fxmodule: Config.TLS.CertFile: it goes with KeyFile: give both or none"))
	}
	return wrong
}

// config reads the files.
func (t TLS) config() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("fxmodule: Config.TLS.CAFile: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("fxmodule: Config.TLS.CAFile: %s holds no certificate", t.CAFile)
		}
	}
	if t.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("fxmodule: Config.TLS.CertFile: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
