package session

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/logs"
	"github.com/troupe-go/troupe/internal/seeded"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

const (
	defaultTimeout   = 10 * time.Second
	defaultMaxPacket = 1_048_575 // jute.maxbuffer of servers that are not told otherwise
)

// Option configures a new [Session]. [New] fails if an option is not valid, and the error names it.
type Option func(*config) error

// config is what a session is told once and for all.
type config struct {
	// Where it connects, and how.
	servers  []string
	dial     func(ctx context.Context, network, addr string) (net.Conn, error)
	tls      *tls.Config
	auth     []*zkconn.Credential // by reference, so that who prints a session prints no secret
	deferred bool
	// Until when it is trusted.
	timeout time.Duration
	tick    time.Duration // 0: unknown
	margin  time.Duration // 0: from timeout and tick
	strict  bool
	// Its requests.
	namespace string
	root      string // what every path is below: chroot and namespace; "" if there is neither
	acl       []jute.ACL
	retry     RetryPolicy
	maxPacket int
	// How it appears to others: one of identity.Name and anonymous at most.
	identity  znode.Identity
	anonymous bool
	log       *slog.Logger
	system    *actors.System // nil: one of its own
	file      string         // of WithSessionFile; "": none
	source    *seeded.Source // of its random choices: nil, unless a test replays them
	hooks     []func(*Session, Event)
	headers   func(context.Context) []string // of items that are put: see seam.Headers
}

// withHooks is seam.Hooks: begin is called for each session that is made with the option. What it
// returns may be nil.
func withHooks(begin func() (func(*Session, Event), func(context.Context) []string, error)) Option {
	return func(c *config) error {
		f, headers, err := begin()
		if f != nil {
			c.hooks = append(c.hooks, f)
		}
		if headers != nil {
			c.headers = headers
		}
		return err
	}
}

// WithTimeout asks for a session timeout; 10 seconds by default. The servers limit it by their
// ticks: [Status] has the negotiated one, and the log warns if it differs. With a shorter timeout,
// others take over sooner after a crash, and shorter pauses of this process cost its possessions:
// see docs/sessions.md.
func WithTimeout(d time.Duration) Option {
	return func(c *config) error {
		if ms := d.Milliseconds(); ms < 1 || ms > math.MaxInt32 {
			if d > 0 && d < 1000 { // a bare number
				return fmt.Errorf("WithTimeout: %v is not possible: did you mean %d*time.Second?", d, d)
			}
			return fmt.Errorf("WithTimeout: %v is not possible: from a millisecond to 2^31-1 of them", d)
		}
		c.timeout = d
		return nil
	}
}

// WithNamespace puts every path of this session below a znode. The znode is created when it is
// first needed, and the log warns of that, since the name may be mistyped.
func WithNamespace(path string) Option {
	return func(c *config) error {
		if err := znode.Validate(path); err != nil {
			return fmt.Errorf("WithNamespace: %w: %w", ErrInvalidPath, err)
		}
		c.namespace = path
		return nil
	}
}

// WithAuth presents a credential on every connection, before any request: with the scheme "digest"
// it is "user:password". It may be given more than once. Credentials are never written to a log or
// an error.
//
// A server that does not know the scheme, or refuses the credential, ends the session with
// [ErrAuthFailed]. To the scheme "digest" a wrong password is another user: requests for znodes
// whose ACL does not name that one fail with [ErrNoAuth], and if the server insists on a user that
// it knows, the session goes on trying ([ErrAuthRequired]).
func WithAuth(scheme string, credentials []byte) Option {
	return func(c *config) error {
		if scheme == "" {
			return errors.New("WithAuth: scheme: empty")
		}
		c.auth = append(c.auth, &zkconn.Credential{Scheme: scheme, Secret: slices.Clone(credentials)})
		return nil
	}
}

// WithACL sets the ACL of the znodes that the session creates. By default every client may do
// everything.
func WithACL(acl ...ACL) Option {
	return func(c *config) error {
		c.acl = convert[jute.ACL](acl)
		if err := validateACL(c.acl); err != nil {
			return fmt.Errorf("WithACL: %w", err)
		}
		return nil
	}
}

// WithTLS encrypts connections. Unless cfg has a ServerName, the name that is dialled is verified;
// cfg.VerifyConnection is told that name even if it is an address.
func WithTLS(cfg *tls.Config) Option {
	return func(c *config) error {
		if cfg == nil {
			return errors.New("WithTLS: nil")
		}
		c.tls = cfg.Clone()
		return nil
	}
}

// WithDialer sets the function that makes the connections. It must return soon after ctx has ended;
// addr is host:port as given to [New]. With [WithTLS], the session adds TLS.
func WithDialer(dial func(ctx context.Context, network, addr string) (net.Conn, error)) Option {
	return func(c *config) error {
		if dial == nil {
			return errors.New("WithDialer: nil")
		}
		c.source, c.dial = seeded.Of(dial)
		return nil
	}
}

// WithLogger sets the logger of the session and of its recipes. They log losses and obstacles at
// Warn; the ends of both, connections, sessions and leaderships at Info; other grants at Debug. The
// same warning is logged at most once a second, the last one with their number ("repeated"). By
// default, warnings and their ends are logged to [slog.Default], as it is at that time; a logger
// with slog.DiscardHandler logs nothing. docs/operations.md lists the messages.
//
// The handler is called by a goroutine that exists only while lines wait, with the times at which
// they were logged. It may be slow, block or panic: only Close waits for it, for a tenth of a
// second. At most 1,000 lines wait; a line says how many more were dropped. The answer of Enabled
// counts for a second.
func WithLogger(log *slog.Logger) Option {
	return func(c *config) error {
		if log == nil {
			return errors.New("WithLogger: nil")
		}
		c.log = logs.New(log.Handler())
		return nil
	}
}

// WithSystem is rarely needed. It has the session's actors run in a system of the application's,
// whose tree shows them all. Without it the session has a system of its own, which costs little,
// since all systems of a process share one of the actor library. The session does not close the
// system; if the system is closed, the session ends.
func WithSystem(system *actors.System) Option {
	return func(c *config) error {
		if system == nil {
			return errors.New("WithSystem: nil")
		}
		c.system = system
		return nil
	}
}

// WithStrict ends possessions with [ErrSuspended] when the connection is lost, if trust has not
// ended before. Then every restart of a server costs what is held.
func WithStrict() Option {
	return func(c *config) error {
		c.strict = true
		return nil
	}
}

// WithRetry sets how often reads are repeated: see [RetryPolicy]. The default is RetryTimes(12),
// which gives up after ten to twenty seconds of pauses.
func WithRetry(p RetryPolicy) Option {
	return func(c *config) error {
		c.retry = p
		return nil
	}
}

// WithMaxPacket states the servers' jute.maxbuffer in bytes, 1,048,575 by default and 1,024 at
// least. A larger request is refused with [ErrTooLarge] before it is sent.
func WithMaxPacket(bytes int) Option {
	return func(c *config) error {
		const least = 1 << 10                       // below that not even the paths of recipes fit
		if bytes < least || bytes > math.MaxInt32 { // a packet has its length in 32 bits
			return fmt.Errorf("WithMaxPacket: %d is not between %d and 2^31-1", bytes, least)
		}
		c.maxPacket = bytes
		return nil
	}
}

// WithIdentity adds a name to what locks, elections and queues write into the znodes of this
// session's contenders, so that others can tell whose they are: host, process ID and program, in at
// most 256 bytes, to which a long host or program is cut. They contain nothing of the environment.
// The name is printable text. It need not be unique: nothing is decided by it.
func WithIdentity(name string) Option {
	return func(c *config) error {
		c.identity = znode.Identity{PID: math.MaxInt32, Name: name}
		if name == "" || znode.ParseIdentity(c.identity.JSON()) != c.identity {
			return fmt.Errorf("WithIdentity: name: %.80q is empty, too long or not printable", name)
		}
		return nil
	}
}

// WithoutIdentity leaves out the host, the process ID and the program: see [WithIdentity], with
// which it can't be combined. Others then know a contender only by its ZooKeeper session.
func WithoutIdentity() Option {
	return func(c *config) error {
		c.anonymous = true
		return nil
	}
}

// Identity says whose a contender's znode is, in the words of the process that created it. It is
// not verified: it is for people who look, not for decisions. The texts are printable. What was not
// said is zero.
type Identity struct {
	Host    string `json:"host,omitempty"`    // the name of the host
	PID     int    `json:"pid,omitempty"`     // the process ID there
	Program string `json:"program,omitempty"` // the file name of the program
	Name    string `json:"name,omitempty"`    // of WithIdentity
}

// String is "orders-7 on host a (pid 812)", as far as that is known; "" of the zero value.
func (i Identity) String() string { return znode.Identity(i).String() }

// identify adds what this process knows of itself.
func (c *config) identify() error {
	switch {
	case c.anonymous && c.identity.Name != "":
		return errors.New("WithoutIdentity: can't be combined with WithIdentity")
	case c.anonymous:
		return nil
	}
	c.identity.Host, _ = os.Hostname() // else it is left out
	c.identity.PID, c.identity.Program = os.Getpid(), filepath.Base(strings.Join(os.Args[:min(1, len(os.Args))], ""))
	return nil
}

// WithTick states the servers' tickTime. Possessions then outlive a longer silence: without it, the
// session assumes the longest tick that its timeout allows, half of it. A timeout of less than
// three ticks needs this option, or [WithTrustMargin]: see docs/sessions.md.
func WithTick(d time.Duration) Option {
	return func(c *config) error {
		if d <= 0 {
			return fmt.Errorf("WithTick: %v is not positive", d)
		}
		c.tick = d
		return nil
	}
}

// WithTrustMargin is rarely needed. It sets by how much trust ends before the session timeout has
// passed since the last proof of life was sent. It replaces the margin that the session computes,
// half the timeout without [WithTick], for those who know their servers, clocks and networks
// better. It must be less than the timeout; if the servers negotiate the timeout down to the margin
// or below, nothing can be held, which the log says.
func WithTrustMargin(d time.Duration) Option {
	return func(c *config) error {
		if d <= 0 {
			return fmt.Errorf("WithTrustMargin: %v is not positive", d)
		}
		c.margin = d
		return nil
	}
}

// checkTrust checks the options that belong together.
func (c *config) checkTrust() error {
	if c.margin >= c.timeout {
		return fmt.Errorf("WithTrustMargin: %v is not less than the timeout of %v", c.margin, c.timeout)
	}
	if c.tick > c.timeout/2 {
		return fmt.Errorf("WithTick: a timeout of %v is less than two ticks of %v, which no server grants", c.timeout, c.tick)
	}
	return nil
}

// RetryPolicy determines how often, and after what pauses, the session repeats what may be repeated
// without harm: a read of the application whose answer was lost with the connection, or that an
// overloaded server did not carry out; and likewise [Session.EnsurePath], [Session.DeleteAll],
// [Session.Sync] and [Session.SyncQuorum]. Each repetition waits for a connection first, however
// long that takes; the context of the call bounds all of it. When the retries are used up, the read
// fails with [ErrSuspended], and also with [ErrHungUp] if servers hung up on it eight times and
// answered others.
//
// It does not apply to reconnection, which goes on for as long as the session lives; nor to writes,
// which are sent once; nor to recipes, which try until the intent is withdrawn. The zero value
// repeats nothing.
type RetryPolicy struct {
	times   int           // at most; -1: for ever
	elapsed time.Duration // at most; 0: for ever
	growing bool          // pauses grow by step; else they are those of RetryTimes
	step    time.Duration
}

// RetryTimes repeats n times at most, with pauses that grow from 10 ms to 5 s. With n = 0 nothing
// is repeated.
func RetryTimes(n int) RetryPolicy { return RetryPolicy{times: max(n, 0)} }

// RetryElapsed repeats until this long after the first try, with the pauses of [RetryTimes].
func RetryElapsed(d time.Duration) RetryPolicy {
	if d <= 0 {
		return RetryPolicy{}
	}
	return RetryPolicy{times: -1, elapsed: d}
}

// RetryForever repeats until the context of the call ends, with the pauses of [RetryTimes].
func RetryForever() RetryPolicy { return RetryPolicy{times: -1} }

// RetryGrowing repeats n times at most: at once, and then after pauses of step, twice step, and so
// on. With n = 9 and half a second it is the policy of ZooKeeper's Java recipes: ten tries.
func RetryGrowing(n int, step time.Duration) RetryPolicy {
	return RetryPolicy{times: max(n, 0), growing: true, step: max(step, 0)}
}

// defaultRetries is bounded: with its pauses, ten to twenty seconds beside the waits for a
// connection.
const defaultRetries = 12

// next is the pause before repetition number try (from 1 on), when so much time has passed since
// the first try; false if there is to be no repetition.
func (p RetryPolicy) next(source *seeded.Source, try int, since time.Duration) (time.Duration, bool) {
	if p.times >= 0 && try > p.times {
		return 0, false
	}
	pause := backoff(source, try)
	if p.growing {
		pause = time.Duration(try-1) * p.step
	}
	if p.elapsed > 0 && since+pause > p.elapsed {
		return 0, false
	}
	return pause, true
}

const (
	shortestPause = 10 * time.Millisecond
	longestPause  = 5 * time.Second
	mostRepeats   = 8           // of a client's creates, up to which the pauses grow: to a third of a second
	longEnough    = time.Second // an epoch or a znode that is over sooner may be over so again: see znodes.pauseIfRepeated
)

// backoff is the pause before a repetition: exponential, half of it jitter, so that those that
// failed together do not come back together.
func backoff(source *seeded.Source, try int) time.Duration {
	pause := min(shortestPause<<min(max(try-1, 0), 16), longestPause)
	return pause/2 + source.N(pause/2+1)
}
