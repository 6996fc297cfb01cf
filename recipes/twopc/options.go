package twopc

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipes/twopc/internal/pact"
	"github.com/troupe-go/troupe/session"
)

// Option changes how a Coordinator is made. Each says what it is for; a Site has none so far, and
// refuses those of coordinators.
type Option func(*options) error

type options struct {
	site    bool
	timeout time.Duration
	peers   bool
	most    int
	age     time.Duration
	limit   int
}

// defaultVoteTimeout is long for programs and bearable for people.
const defaultVoteTimeout = 30 * time.Second

// longestID in bytes: it stands in the name of a site's entry, of which a whole inbox has to fit
// into an answer of ZooKeeper's.
const longestID = 1024

// longestReason in bytes: a reason stands in the record of the transaction.
const longestReason = 1024

// WithVoteTimeout sets how long a coordinator waits for the votes, from the moment at which
// ZooKeeper has confirmed the beginning; 30 seconds by default. Then it aborts. It is for
// coordinators, and is counted in whole milliseconds.
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

// WithPeerDecision lets the sites decide among themselves: each watches the votes of all, and
// whoever sees the last one writes the decision. The coordinator only begins, and aborts. It costs
// of the order of n² watch events for n sites where the usual form costs n, and spares the way over
// the coordinator; transactions that all have voted for are committed even if the coordinator dies.
// It is for coordinators.
func WithPeerDecision() Option {
	return func(o *options) error {
		if o.site {
			return errors.New("WithPeerDecision: is for coordinators")
		}
		o.peers = true
		return nil
	}
}

// WithRetention sets for how long ZooKeeper keeps outcomes that the coordinator's application has
// not acknowledged ([Tx.Ack]), and how many of them: 7 days and 10,000 by default. They are counted
// once all sites have acknowledged; the oldest go first. It is for applications that do not
// acknowledge, and for processes that never come back: such an outcome is not returned by
// [Coordinator.Recover] any more, and its id can be used again. Coordinators sweep when they have
// come to a decision, and the age is by the servers' clocks. Give all coordinators of a path the
// same.
func WithRetention(age time.Duration, most int) Option {
	return func(o *options) error {
		switch {
		case o.site:
			return errors.New("WithRetention: is for coordinators")
		case age < time.Second:
			return fmt.Errorf("WithRetention: age: %v is less than a second", age)
		case most < 1:
			return fmt.Errorf("WithRetention: most: %d is less than one", most)
		}
		o.age, o.most = age, most
		return nil
	}
}

// WithInboxLimit sets how many transactions a site may have that it has not acknowledged, 8,192 by
// default: Begin is [ErrBusy] beyond that. It keeps the listing of a site's inbox small enough, so
// that one that was away for long can return. It is for coordinators; give all of a path the same.
//
// ZooKeeper can't check a number of children within a transaction. So a coordinator looks at an
// inbox before it begins with a site, and again when it has begun half of what was free then, or
// 256. One coordinator alone keeps the limit; several may go beyond it, by 256 each at most.
func WithInboxLimit(n int) Option {
	return func(o *options) error {
		switch {
		case o.site:
			return errors.New("WithInboxLimit: is for coordinators")
		case n < 1:
			return fmt.Errorf("WithInboxLimit: %d is less than one", n)
		}
		o.limit = n
		return nil
	}
}

// settle checks what every constructor is given.
func settle(op string, s *session.Session, path string, site bool, opts []Option) (options, error) {
	o := options{site: site, timeout: defaultVoteTimeout, most: pact.DefaultMost, limit: pact.DefaultLimit, age: pact.DefaultAge * time.Millisecond}
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
