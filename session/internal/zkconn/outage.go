package zkconn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/troupe-go/troupe/internal/logs"
)

// sayAgain is how often it is logged that there still is no connection.
const sayAgain = 30 * time.Second

// outage is the present time without a connection, and what was logged about it. Under the Conn's
// mu.
type outage struct {
	since   time.Time   // when the last connection was lost, or the first one was asked for
	again   *time.Timer // logs that there still is none; nil: nothing was logged yet
	trouble error       // why the last attempt failed
}

// Outage is nil while there is a connection. Else it is [ErrDown], with how long there was none and
// what is wrong with each server. It wraps the latest of these causes, without its text, but no
// error of a context.
func (c *Conn) Outage() error {
	c.core.mu.Lock()
	defer c.core.mu.Unlock()
	if c.core.outage.since.IsZero() {
		return nil
	}
	return fmt.Errorf("%w for %v: %s%.0w", ErrDown, time.Since(c.core.outage.since).Round(100*time.Millisecond), c.core.troubles(error.Error), cmp.Or(c.core.outage.trouble, ErrDown))
}

// warnDown records why there is no connection, and logs the first cause of an outage. A cause of
// nil stands for the state of the attempt that is under way.
func (c *core) warnDown(at *target, cause error) {
	c.mu.Lock()
	if cause == nil {
		cause = at.seen()
	}
	if at.next != 0 && hungUp(cause) {
		cause = fmt.Errorf("it hangs up: its next transaction is 0x%x, and the session has seen 0x%x", at.next, c.session.zxid)
	}
	c.outage.trouble = cause
	if errors.Is(cause, context.DeadlineExceeded) || errors.Is(cause, context.Canceled) { // of a limit; the caller has contexts too
		c.outage.trouble = errors.New(cause.Error())
	}
	for _, s := range c.servers {
		if s.name == at.server {
			s.trouble = cause
		}
	}
	first := c.outage.again == nil && !c.over()
	if first {
		c.outage.again = time.AfterFunc(sayAgain, c.warnStill) // again and again, until there is a connection or the session is over
	}
	log := c.logOf()
	c.mu.Unlock()
	if first {
		at.about(log).Warn("no connection to ZooKeeper", "cause", cause)
	}
}

// warnStill logs that there still is no connection, with what is wrong with each server.
func (c *core) warnStill() {
	defer guard(c.log, "log an outage", new(error))
	c.mu.Lock()
	if c.outage.again == nil || c.outage.since.IsZero() || c.over() {
		c.mu.Unlock()
		return
	}
	c.outage.again.Reset(sayAgain)
	lasts, log, servers := time.Since(c.outage.since), c.logOf(), c.troubles(reason)
	c.mu.Unlock()
	log.Warn("still no connection to ZooKeeper", "for", lasts.Round(time.Millisecond), "servers", servers)
}

// troubles is what is wrong with each server, in the words of text. Under mu.
func (c *core) troubles(text func(error) string) string {
	var servers []string
	for _, s := range c.servers {
		cause := cmp.Or(s.trouble, errUntried)
		for _, t := range s.targets {
			if t.unanswered(c.session.timeout) {
				cause = t.seen()
			}
		}
		servers = append(servers, s.name+": "+text(cause))
	}
	slices.Sort(servers)
	return strings.Join(servers, "; ")
}

// logOf is a log that names the session. Under mu.
func (c *core) logOf() *slog.Logger {
	if c.session.id == 0 {
		return c.log
	}
	return c.log.With("session", fmt.Sprintf("0x%x", uint64(c.session.id)))
}

// unanswered tells whether an attempt is under way, and its connect request without an answer for
// as long as a server has for a step. Under mu.
func (t *target) unanswered(timeout time.Duration) bool {
	return t.busy > 0 && !t.asked.IsZero() && time.Since(t.asked) >= limitOf(timeout)
}

// seen describes the attempt that is under way. Under mu.
func (t *target) seen() error {
	if t.asked.IsZero() {
		return errConnecting
	}
	return noAnswer(t.asked)
}

// noAnswer describes an attempt whose connect request was sent at that instant.
func noAnswer(asked time.Time) error {
	return fmt.Errorf("%w for %v since the connect request", errNoAnswer, time.Since(asked).Round(100*time.Millisecond))
}

// outageOver takes in that there is a connection again, and returns how long there was none, if
// that was logged. Under mu.
func (c *core) outageOver() (lasted time.Duration) {
	if c.outage.again != nil {
		c.outage.again.Stop()
		lasted = time.Since(c.outage.since)
	}
	c.outage = outage{}
	return lasted
}

// logUp logs that there is a connection; after is how long there was none, if that was logged.
func (w *socket) logUp(after time.Duration) {
	log := w.link.log
	if after > 0 {
		log = logs.Ends(log)
	}
	w.conn.mu.Lock()
	is := w.conn.session
	w.conn.mu.Unlock()
	log.Info("connected to ZooKeeper", "session", fmt.Sprintf("0x%x", uint64(is.id)), "timeout", is.timeout, "after", after.Round(time.Millisecond))
}

var errSecure, errUntried = errors.New("TLS"), errors.New("not tried yet")

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
	case errors.Is(cause, errSecure), errors.Is(cause, errNoAnswer):
		return cause.Error()
	case errors.Is(cause, errConnecting), errors.Is(cause, errStalled), timedOut(cause):
		return "it does not answer"
	case errors.Is(cause, errNotAccepted), errors.Is(cause, io.EOF), errors.Is(cause, syscall.ECONNRESET):
		return "it hangs up: it has no quorum, or does not accept this client"
	}
	return cause.Error()
}
