package fxmodule

import "time"

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
	// crash, and which pauses cost no possession. Default 10s.
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

	// Private gives access to the created znodes only to clients with the credential, instead of to
	// all.
	Private bool `env:"TROUPE_PRIVATE" json:"private,omitempty" yaml:"private"`

	// TLS encrypts the connections.
	TLS TLS `envPrefix:"TROUPE_TLS_" json:"tls" yaml:"tls"`

	// Embedded starts a server in this process instead of connecting to Servers: for development,
	// with a warning in the log. Its data end with the process, and it can't be reached from
	// outside, unless EmbeddedListen is set. The program has to import fxmodule/embedded, in which
	// the server is.
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
func Default(servers ...string) Config {
	return Config{Servers: servers}.withDefaults()
}

func (c Config) withDefaults() Config {
	if c.Timeout == 0 {
		c.Timeout = Duration(10 * time.Second)
	}
	if c.Startup == "" {
		c.Startup = StartupWait
	}
	if c.MaxPacket == 0 {
		c.MaxPacket = 1_048_575
	}
	return c
}
