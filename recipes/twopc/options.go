package twopc

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
)

// Option changes how a Coordinator is made. Each says what it is for; a Site has none so far, and refuses those of coordinators.
type Option func(*options) error

type options struct {
	site    bool
	timeout time.Duration
	peers   bool
}

// defaultVoteTimeout is long for programs and bearable for people.
const defaultVoteTimeout = 30 * time.Second

// longestReason in bytes: a reason stands in the record of the transaction.
const longestReason = 1024

// WithVoteTimeout sets how long a coordinator waits for the votes, from the moment at which ZooKeeper has confirmed the beginning; 30 seconds by default.
// Then it aborts. It is for coordinators, and is counted in whole milliseconds.
func WithVoteTimeout(d time.Duration) Option {
	return func(o *options) error {
		switch {
		case o.site:
			return errors.New("WithVoteTimeout: is for coordinators")
		case d < time.Millisecond:
			return fmt.Errorf("WithVoteTimeout: %v is less than a millisecond", d)
		}
		o.timeout = d
		return nil
	}
}

// WithPeerDecision lets the sites decide among themselves: each watches the votes of all, and whoever sees the last one writes the decision. The
// coordinator only begins, and aborts. It costs of the order of n² watch events for n sites where the usual form costs n, and spares the way over the
// coordinator; transactions that all have voted for are committed even if the coordinator dies. It is for coordinators.
func WithPeerDecision() Option {
	return func(o *options) error {
		if o.site {
			return errors.New("WithPeerDecision: is for coordinators")
		}
		o.peers = true
		return nil
	}
}

// settle checks what every constructor is given.
func settle(op string, s *session.Session, path string, site bool, opts []Option) (options, error) {
	o := options{site: site, timeout: defaultVoteTimeout}
	if s == nil {
		return o, fmt.Errorf("%s: s: nil session", op)
	}
	if err := znode.Validate(path); err != nil {
		return o, &session.OpError{Op: op, Path: path, Err: fmt.Errorf("%w: path: %w", session.ErrInvalidPath, err)}
	}
	for i, opt := range opts {
		if opt == nil {
			return o, &session.OpError{Op: op, Path: path, Err: fmt.Errorf("opts[%d]: nil", i)}
		}
		if err := opt(&o); err != nil {
			return o, &session.OpError{Op: op, Path: path, Err: err}
		}
	}
	return o, nil
}

// checkName tells what is wrong with an id or a site's name: it is part of a znode's.
func checkName(argument, name string) error {
	switch {
	case name == "":
		return errors.New(argument + ": empty")
	case strings.Contains(name, "/"):
		return fmt.Errorf("%s: %q has a slash", argument, name)
	}
	if err := znode.Validate("/" + name); err != nil {
		return fmt.Errorf("%s: %q: %w", argument, name, err)
	}
	return nil
}

func checkSites(sites []string) error {
	if len(sites) == 0 {
		return errors.New("sites: none")
	}
	seen := make(map[string]bool, len(sites))
	for i, site := range sites {
		if err := checkName(fmt.Sprintf("sites[%d]", i), site); err != nil {
			return err
		}
		if seen[site] {
			return fmt.Errorf("sites[%d]: %q is there twice", i, site)
		}
		seen[site] = true
	}
	return nil
}

func checkReason(reason string) error {
	if len(reason) > longestReason {
		return fmt.Errorf("reason: %d bytes are more than %d", len(reason), longestReason)
	}
	return nil
}
