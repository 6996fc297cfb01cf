package fxmodule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/troupe-go/troupe/fxmodule/internal/development"
	"github.com/troupe-go/troupe/session"
)

// Config configures the module. Put one into the graph: your own or that of [Default], filled from
// your configuration. The fields have yaml, json and env tags.
//
//	fx.Supply(fxmodule.Config{Servers: []string{"zk1:2181", "zk2:2181", "zk3:2181"}})
//
// Fields that are zero have their defaults.
type Config struct {
	// Servers are the addresses of the ensemble, "host:port"; the last may have a chroot,
	// "host:port/app", as in the Java client. Required, unless Embedded.
	Servers []string `env:"TROUPE_SERVERS" json:"servers" yaml:"servers"`

	// Namespace is prefixed to every path: "/app". Default none.
	Namespace string `env:"TROUPE_NAMESPACE" json:"namespace,omitempty" yaml:"namespace"`

	// Timeout is the requested session timeout. It determines how soon others take over after a
	// crash, and how long a process may pause without losing what it holds. Default 10s.
	Timeout Duration `env:"TROUPE_TIMEOUT" json:"timeout,omitempty" yaml:"timeout"`

	// Tick is the servers' tickTime, if known: see session.WithTick. Default unknown.
	Tick Duration `env:"TROUPE_TICK" json:"tick,omitempty" yaml:"tick"`

	// Startup says whether the application waits for ZooKeeper when it starts. Default StartupWait.
	Startup Startup `env:"TROUPE_STARTUP" json:"startup,omitempty" yaml:"startup"`

	// Strict ends possessions at the first loss of the connection: see session.WithStrict.
	Strict bool `env:"TROUPE_STRICT" json:"strict,omitempty" yaml:"strict"`

	// MaxPacket is the servers' jute.maxbuffer in bytes. Default 1048575.
	MaxPacket int `env:"TROUPE_MAX_PACKET" json:"maxPacket,omitempty" yaml:"maxPacket"`

	// AuthScheme and AuthSecret are a credential, such as digest and "user:password".
	AuthScheme string `env:"TROUPE_AUTH_SCHEME" json:"authScheme,omitempty" yaml:"authScheme"`
	AuthSecret Secret `env:"TROUPE_AUTH_SECRET" json:"authSecret,omitempty" yaml:"authSecret"`

	// Private gives access to the created znodes only to clients with the credential. Default: to
	// all clients.
	Private bool `env:"TROUPE_PRIVATE" json:"private,omitempty" yaml:"private"`

	// TLS encrypts the connections.
	TLS TLS `envPrefix:"TROUPE_TLS_" json:"tls" yaml:"tls"`

	// Embedded starts a server in this process instead of connecting to Servers, for development; a
	// warning is logged. Its data end with the process. Other processes can't connect to it, unless
	// EmbeddedListen is set. The program has to import fxmodule/embedded, which has the server.
	Embedded bool `env:"TROUPE_EMBEDDED" json:"embedded,omitempty" yaml:"embedded"`

	// EmbeddedListen is the address on which the embedded server listens, "127.0.0.1:2181". Default
	// none.
	EmbeddedListen string `env:"TROUPE_EMBEDDED_LISTEN" json:"embeddedListen,omitempty" yaml:"embeddedListen"`
}

// Startup says whether the start of the application waits for ZooKeeper.
type Startup string

// The ways to start.
const (
	// StartupWait connects within fx's start timeout; otherwise the application does not start, and
	// the error names the servers and the cause.
	StartupWait Startup = "wait"
	// StartupLazy starts without ZooKeeper; operations that need it wait until it can be reached.
	StartupLazy Startup = "lazy"
)

// Default returns a Config for an ensemble, with every default filled in.
func Default(servers ...string) Config { return Config{Servers: servers}.withDefaults() }

func (c Config) withDefaults() Config {
	c.Timeout = cmp.Or(c.Timeout, Duration(10*time.Second))
	c.Startup = cmp.Or(c.Startup, StartupWait)
	c.MaxPacket = cmp.Or(c.MaxPacket, 1_048_575)
	return c
}

// Duration is a time.Duration that YAML, JSON and the environment have as text: "10s".
type Duration time.Duration

// UnmarshalText parses the text with time.ParseDuration.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration such as 10s", text)
	}
	*d = Duration(v)
	return nil
}

// MarshalText returns what String does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// String formats the duration like time.Duration.
func (d Duration) String() string { return time.Duration(d).String() }

// Secret is a text that is read from configuration and never written: not to a log, an error, or a
// dump of the configuration.
type Secret string

const redacted = "[redacted]"

// String returns "[redacted]", or "" for an empty secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// GoString hides the text from %#v.
func (s Secret) GoString() string { return `"` + s.String() + `"` }

// LogValue hides the text from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText hides the text from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Validate returns an error that names each invalid field on a line of its own; nil if there are
// none. It reads the files that TLS names, and does not connect.
func (c Config) Validate() error {
	c = c.withDefaults()
	var f faults
	c.validateServers(&f)
	c.validateTimes(&f)
	if c.Startup != StartupWait && c.Startup != StartupLazy {
		f.add("Startup", fmt.Errorf("%q is neither %q nor %q", c.Startup, StartupWait, StartupLazy))
	}
	f.add("MaxPacket", optionsError(session.WithMaxPacket(c.MaxPacket)))
	c.validateRights(&f)
	c.TLS.validate(&f)
	return errors.Join(f...)
}

// faults are the invalid fields, each with its name.
type faults []error

// add records an invalid field, unless err is nil.
func (f *faults) add(field string, err error) {
	if err != nil {
		*f = append(*f, fmt.Errorf("fxmodule: Config.%s: %w", field, err))
	}
}

func (c Config) validateServers(f *faults) {
	switch {
	case len(c.Servers) > 0:
		f.add("Servers", sessionError(session.New(c.Servers)))
	case !c.Embedded:
		f.add("Servers", errors.New("none given, and Embedded is not set"))
	}
	if c.Namespace != "" {
		f.add("Namespace", optionsError(session.WithNamespace(c.Namespace)))
	}
	if c.Embedded && development.New == nil {
		f.add("Embedded", errors.New("the program does not import github.com/troupe-go/troupe/fxmodule/embedded, which has the server"))
	}
	if c.Embedded && len(c.Servers) > 0 {
		f.add("Embedded", errors.New("set together with Servers: give only one of the two"))
	}
	if c.Embedded && c.TLS.Enabled {
		f.add("Embedded", errors.New("the embedded server has no TLS, but TLS.Enabled is set"))
	}
	if c.EmbeddedListen != "" {
		if !c.Embedded {
			f.add("EmbeddedListen", errors.New("needs Embedded, which is not set"))
		}
		f.add("EmbeddedListen", listenable(c.EmbeddedListen))
	}
}

func (c Config) validateTimes(f *faults) {
	timeout := session.WithTimeout(time.Duration(c.Timeout))
	wrong := optionsError(timeout)
	f.add("Timeout", wrong)
	if wrong != nil {
		timeout = session.WithTimeout(time.Hour) // so that the tick is checked all the same
	}
	if c.Tick != 0 {
		f.add("Tick", optionsError(timeout, session.WithTick(time.Duration(c.Tick))))
	}
}

func (c Config) validateRights(f *faults) {
	if c.AuthScheme == "" && c.AuthSecret != "" {
		f.add("AuthScheme", errors.New("empty, but AuthSecret is given"))
	}
	if c.AuthScheme != "" && c.AuthSecret == "" {
		f.add("AuthSecret", errors.New("empty, but AuthScheme is given"))
	}
	if c.Private && c.AuthScheme == "" {
		f.add("Private", errors.New("without a credential no client could use the znodes"))
	}
}

// listenable finds mistakes in an address to listen on.
func listenable(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%q: the port is not a number from 0 to 65535", address)
	}
	return nil
}

// optionsError is the error with which session.New refuses options; nil if it does not.
func optionsError(opts ...session.Option) error {
	return sessionError(session.New([]string{"localhost"}, opts...))
}

// sessionError is the error of session.New, whose results it takes. The session was only made for
// that; it was not connected, so closing it does not wait.
func sessionError(s *session.Session, err error) error {
	if err != nil {
		return err
	}
	return s.Close(context.Background()) // bounded: see above
}
