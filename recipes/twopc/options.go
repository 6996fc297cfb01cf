package twopc

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/session"
)

// Option configures a Coordinator, or a Site, which has WithACL alone and refuses the others.
type Option func(*options) error

type options struct {
	acl     []session.ACL // nil: the session's
	site    bool
	timeout time.Duration
	peers   bool
}

const (
	defaultVoteTimeout = 30 * time.Second // long for programs and bearable for people

	// longest is the limit of ids and reasons, in bytes. The name of an entry in a site's inbox
	// contains the id, and the listing of an inbox has to fit into one reply of ZooKeeper.
	longest = 1024
)

// WithVoteTimeout sets how long a coordinator waits for the votes after ZooKeeper has confirmed the
// beginning. Then it aborts the transaction. The default is 30 seconds; the resolution is a
// millisecond. It is for coordinators.
func WithVoteTimeout(d time.Duration) Option {
	return func(o *options) error {
		if o.site || d < time.Millisecond {
			return fmt.Errorf("WithVoteTimeout: for coordinators, and at least a millisecond: %v", d)
		}
		o.timeout = d
		return nil
	}
}

// WithPeerDecision lets the sites decide: each watches all votes, and the first site that sees the
// last vote writes the decision. The coordinator only begins and aborts. A transaction of n sites
// takes on the order of n² watch events, where the default takes n, and avoids the detour over the
// coordinator. If all sites have voted to commit, the transaction is committed even if the
// coordinator dies. It is for coordinators.
func WithPeerDecision() Option {
	return func(o *options) error {
		if o.site {
			return errors.New("WithPeerDecision: for coordinators")
		}
		o.peers = true
		return nil
	}
}

// configure checks the arguments of all constructors.
func configure(op string, s *session.Session, path string, site bool, opts []Option) (options, error) {
	o := options{site: site, timeout: defaultVoteTimeout}
	if err := recipe.CheckNew(op, s, "path", path); err != nil {
		return o, err
	}
	return o, recipe.Failed(s, op, path, recipe.Apply(&o, opts))
}

// checkName refuses an id or a site's name that can't be part of a znode's name.
func checkName(argument, name string) error {
	if err := znode.Validate("/" + name); err != nil || name == "" || strings.Contains(name, "/") {
		return fmt.Errorf("%s: empty, or not a name of a znode: %q", argument, name)
	}
	return nil
}

// checkLength refuses an id or a reason that is too long.
func checkLength(argument, value string) error {
	if len(value) > longest {
		return fmt.Errorf("%s: %d bytes exceed the limit of %d", argument, len(value), longest)
	}
	return nil
}

// checkBegin checks the arguments of Begin.
func checkBegin(id string, sites []string) error {
	err := errors.Join(checkName("id", id), checkLength("id", id))
	if err == nil && len(sites) == 0 {
		err = errors.New("sites: none given")
	}
	seen := make(map[string]bool, len(sites))
	for i, site := range sites {
		if err = cmp.Or(err, checkName(fmt.Sprintf("sites[%d]", i), site)); err == nil && seen[site] {
			err = fmt.Errorf("sites[%d]: %q is given twice", i, site)
		}
		seen[site] = true
	}
	return err
}

// WithACL sets the ACL of the znodes that the coordinator or site creates, including missing
// parents. Without it they get the session's ACL. A znode that exists keeps its own.
func WithACL(acl ...session.ACL) Option {
	return func(o *options) error { return recipe.SetACL(&o.acl, acl) }
}
