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

	// longest is of ids and reasons, in bytes. An id is part of the name of an entry in a site's
	// inbox, whose listing has to fit into one reply of ZooKeeper.
	longest = 1024
)

// WithVoteTimeout sets how long a coordinator waits for the votes, from the moment at which
// ZooKeeper has confirmed the beginning. Then it aborts. The default is 30 seconds; the resolution
// is a millisecond. It is for coordinators.
func WithVoteTimeout(d time.Duration) Option {
	return func(o *options) error {
		if o.site || d < time.Millisecond {
			return fmt.Errorf("WithVoteTimeout: for coordinators, and at least a millisecond: %v", d)
		}
		o.timeout = d
		return nil
	}
}

// WithPeerDecision lets the sites decide: each watches all votes, and the first one that sees the
// last vote writes the decision. The coordinator only begins and aborts. It takes on the order of
// n² watch events for n sites where the default takes n, and avoids the detour over the
// coordinator. A transaction that all sites have voted to commit is committed even if the
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

// checkName tells what is wrong with an id or a site's name, which is part of a znode's name.
func checkName(argument, name string) error {
	if err := znode.Validate("/" + name); err != nil || name == "" || strings.Contains(name, "/") {
		return fmt.Errorf("%s: empty, or not a name of a znode: %q", argument, name)
	}
	return nil
}

// checkLength tells if an id or a reason is too long.
func checkLength(argument, value string) error {
	if len(value) > longest {
		return fmt.Errorf("%s: %d bytes exceed the limit of %d", argument, len(value), longest)
	}
	return nil
}

// checkBegin tells what is wrong with the arguments of Begin.
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

// WithACL sets the ACL of the znodes that the coordinator or site creates,
// those above them included. Without it they get the session's. A znode that exists keeps its own.
func WithACL(acl ...session.ACL) Option {
	return func(o *options) error { return recipe.SetACL(&o.acl, acl) }
}
