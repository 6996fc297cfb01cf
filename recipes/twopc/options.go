package twopc

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipes/twopc/internal/protocol"
	"github.com/troupe-go/troupe/session"
)

// Option configures a Coordinator. A Site has no options so far, and refuses those of coordinators.
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

// longestID is in bytes. An id is part of the name of an entry in a site's inbox, whose listing has
// to fit into one reply of ZooKeeper.
const longestID = 1024

// longestReason is in bytes. A reason is stored in the transaction's record.
const longestReason = 1024

// WithVoteTimeout sets how long a coordinator waits for the votes, from the moment at which
// ZooKeeper has confirmed the beginning. Then it aborts. The default is 30 seconds; the resolution
// is a millisecond. It is for coordinators.
func WithVoteTimeout(d time.Duration) Option {
	return forCoordinators("WithVoteTimeout", func(o *options) error {
		if d < time.Millisecond {
			return fmt.Errorf("WithVoteTimeout: %v is less than a millisecond", d)
		}
		o.timeout = d
		return nil
	})
}

// WithPeerDecision lets the sites decide: each watches all votes, and the first one that sees the
// last vote writes the decision. The coordinator only begins and aborts. It takes on the order of
// n² watch events for n sites where the default takes n, and avoids the detour over the
// coordinator. A transaction that all sites have voted to commit is committed even if the
// coordinator dies. It is for coordinators.
func WithPeerDecision() Option {
	return forCoordinators("WithPeerDecision", func(o *options) error {
		o.peers = true
		return nil
	})
}

// WithRetention sets for how long ZooKeeper keeps outcomes that the coordinator's application has
// not acknowledged ([Tx.Ack]), and how many of them: 7 days and 10,000 by default. Outcomes count
// once all sites have acknowledged; the oldest are deleted first. It is for applications that do
// not acknowledge, and for processes that never come back. A deleted outcome is not returned by
// [Coordinator.Recover] any more, and its id can be used again. Coordinators sweep after a
// decision; the age is measured by the servers' clocks. Give all coordinators of a path the same
// setting.
func WithRetention(age time.Duration, most int) Option {
	return forCoordinators("WithRetention", func(o *options) error {
		switch {
		case age < time.Second:
			return fmt.Errorf("WithRetention: age: %v is less than a second", age)
		case most < 1:
			return fmt.Errorf("WithRetention: most: %d is less than one", most)
		}
		o.age, o.most = age, most
		return nil
	})
}

// WithInboxLimit sets how many transactions a site may have that it has not acknowledged, 8,192 by
// default; beyond that Begin returns [ErrBusy]. It keeps the listing of a site's inbox small enough
// that a site can return after a long absence. It is for coordinators; give all coordinators of a
// path the same setting.
//
// ZooKeeper can't check the number of children within a transaction. So a coordinator reads an
// inbox before it begins with a site, and again when it has begun half as many transactions as were
// free then, or 256. A single coordinator keeps the limit; several may exceed it, by at most 256
// each.
func WithInboxLimit(n int) Option {
	return forCoordinators("WithInboxLimit", func(o *options) error {
		if n < 1 {
			return fmt.Errorf("WithInboxLimit: %d is less than one", n)
		}
		o.limit = n
		return nil
	})
}

func forCoordinators(name string, set func(o *options) error) Option {
	return func(o *options) error {
		if o.site {
			return errors.New(name + ": only for coordinators")
		}
		return set(o)
	}
}

// configure checks the arguments of all constructors.
func configure(op string, s *session.Session, path string, site bool, opts []Option) (options, error) {
	o := options{site: site, timeout: defaultVoteTimeout, most: protocol.DefaultMost, limit: protocol.DefaultLimit, age: protocol.DefaultAge * time.Millisecond}
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

// checkName tells what is wrong with an id or a site's name, which is part of a znode's name.
func checkName(argument, name string) error {
	switch {
	case name == "":
		return errors.New(argument + ": empty")
	case strings.Contains(name, "/"):
		return fmt.Errorf("%s: %q contains a slash", argument, name)
	}
	if err := znode.Validate("/" + name); err != nil {
		return fmt.Errorf("%s: %q: %w", argument, name, err)
	}
	return nil
}

func checkSites(sites []string) error {
	if len(sites) == 0 {
		return errors.New("sites: none given")
	}
	seen := make(map[string]bool, len(sites))
	for i, site := range sites {
		if err := checkName(fmt.Sprintf("sites[%d]", i), site); err != nil {
			return err
		}
		if seen[site] {
			return fmt.Errorf("sites[%d]: %q is given twice", i, site)
		}
		seen[site] = true
	}
	return nil
}

func checkReason(reason string) error {
	if len(reason) > longestReason {
		return fmt.Errorf("reason: %d bytes exceed the limit of %d", len(reason), longestReason)
	}
	return nil
}
