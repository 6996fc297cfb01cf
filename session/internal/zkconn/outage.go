package zkconn

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/troupe-go/troupe/internal/logs"
)

// sayAgain is how often it is logged that there still is no connection.
const sayAgain = 30 * time.Second

// outage is the present lack of a connection, and what was logged of it. Under the Conn's mu.
type outage struct {
	since   time.Time // when the last connection was lost, or the first one was asked for
	said    time.Time // when it was logged last; zero: not yet
	trouble error     // why the last attempt failed
}

// Trouble is why the last attempt to connect failed; nil if there was a connection since.
func (c *Conn) Trouble() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.trouble
}

// warnDown logs why there is no connection: the first reason at once, and then every now and then
// the last one of each server.
func (c *core) warnDown(at *target, cause error) {
	now := time.Now()
	c.mu.Lock()
	first, again := c.said.IsZero(), now.Sub(c.said) >= sayAgain
	if at.next != 0 && hungUp(cause) {
		cause = fmt.Errorf("it hangs up: its next transaction is 0x%x, and the session has seen 0x%x", at.next, c.session.zxid)
	}
	if c.trouble = fmt.Errorf("%s: %w", at, cause); c.over() {
		first, again = false, false
	}
	if first || again {
		c.said = now
	}
	id, lasts := c.session.id, now.Sub(c.since)
	var servers []string
	for _, s := range c.servers {
		if s.name == at.server {
			s.trouble = reason(cause)
		}
		servers = append(servers, s.name+": "+cmp.Or(s.trouble, "not tried yet"))
	}
	c.mu.Unlock()
	slices.Sort(servers)
	log := c.log
	if id != 0 {
		log = log.With("session", fmt.Sprintf("0x%x", uint64(id)))
	}
	switch {
	case first:
		log.Warn("no connection to ZooKeeper", "server", at.server, "address", at.address, "cause", cause)
	case again:
		log.Warn("still no connection to ZooKeeper", "for", lasts.Round(time.Millisecond), "servers", strings.Join(servers, "; "))
	}
}

// ended takes in that there is a connection again, and returns how long there was none, if that was
// logged. Under mu.
func (o *outage) ended() (lasted time.Duration) {
	if !o.said.IsZero() {
		lasted = time.Since(o.since)
	}
	*o = outage{}
	return lasted
}

// logUp logs that there is a connection; after is how long there was none, if that was logged.
func (w *socket) logUp(after time.Duration) {
	log := w.log
	if after > 0 {
		log = logs.Ends(log)
	}
	w.conn.mu.Lock()
	is := w.conn.session
	w.conn.mu.Unlock()
	log.Info("connected to ZooKeeper", "session", fmt.Sprintf("0x%x", uint64(is.id)), "timeout", is.timeout, "after", after.Round(time.Millisecond))
}

var errSecure = errors.New("TLS")

// reason tells in a few words what is wrong with a server.
func reason(cause error) string {
	_, unresolved := errors.AsType[*net.DNSError](cause)
	switch {
	case unresolved:
		return "its name is not known"
	case errors.Is(cause, syscall.ECONNREFUSED):
		return "it refuses connections"
	case errors.Is(cause, ErrAuthRequired), errors.Is(cause, ErrAuthFailed):
		return "it insists on authentication"
	case errors.Is(cause, errMalformed):
		return "it does not speak ZooKeeper's protocol"
	case errors.Is(cause, errSecure):
		return cause.Error()
	case errors.Is(cause, errNoAnswerYet), errors.Is(cause, errNoResponse), errors.Is(cause, errConnecting), errors.Is(cause, errStalled), timedOut(cause):
		return "it does not answer"
	case errors.Is(cause, errNotAccepted), errors.Is(cause, io.EOF), errors.Is(cause, syscall.ECONNRESET):
		return "it hangs up: it has no quorum, or does not accept this client"
	}
	return cause.Error()
}
