package recipe

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
)

// CheckNew checks what all constructors take, and says what is wrong with it, by the argument's
// name: no session, one that is closed (session.ErrClosed), or a path that no recipe may have
// (session.ErrInvalidPath). The root of ZooKeeper and what is below /zookeeper are nobody's; with a
// chroot or a namespace "/" may be one.
func CheckNew(op string, s *session.Session, argument, path string) error {
	if s == nil {
		return errors.New(op + ": s: nil session")
	}
	err := CheckPath(s, argument, path)
	if err == nil && s.Err() != nil {
		err = fmt.Errorf("s: the session is %w", session.ErrClosed)
	}
	return Failed(s, op, path, err)
}

// CheckPath says what is wrong with a path of a recipe's, as [CheckNew] does.
func CheckPath(s *session.Session, argument, path string) error {
	err := znode.Validate(path)
	if err == nil {
		switch absolute := s.Path(path); {
		case absolute == "/":
			err = errors.New("it is the root of ZooKeeper")
		case absolute == "/zookeeper", strings.HasPrefix(absolute, "/zookeeper/"):
			err = errors.New("/zookeeper is ZooKeeper's own")
		}
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %w", session.ErrInvalidPath, argument, err)
	}
	return nil
}

// Apply applies a constructor's options; the error is that of the first that is wrong.
func Apply[O any, F ~func(*O) error](o *O, opts []F) error {
	for i, opt := range opts {
		if opt == nil {
			return fmt.Errorf("opts[%d]: nil", i)
		}
		if err := opt(o); err != nil {
			return err
		}
	}
	return nil
}

// SetACL is what an option WithACL does: it takes the ACL, or says what is wrong with it.
func SetACL(to *[]session.ACL, acl []session.ACL) error {
	if err := seam.CheckACL.(func([]session.ACL) error)(acl); err != nil {
		return fmt.Errorf("WithACL: acl: %w", err)
	}
	*to = slices.Clone(acl)
	return nil
}

// Failed wraps an error with the operation and the path, of which the text shows the absolute one,
// once: those of the session are wrapped already. s is the session that it was on; nil if none is.
func Failed(s *session.Session, op, path string, err error) error {
	var oe *session.OpError
	if err == nil || errors.As(err, &oe) && oe.Path == path {
		return err
	}
	return seam.Failed.(func(s *session.Session, op, path string, err error) error)(s, op, path, err)
}

// Form is the form of the names of contenders' znodes. It says how an instance recognises its own
// znode after a reply was lost: by a GUID in the name, or, in the forms from [OfSession] on, by the
// owner and the data.
type Form = znode.Form

// The forms. Those of other libraries are for paths that are shared with them.
const (
	Dashed    = znode.Dashed    // _c_<guid>-<name><number>: the default, also Curator's
	Undashed  = znode.Undashed  // _c_<guid without dashes>-<name><number>: go-zookeeper
	Bare      = znode.Bare      // <guid without dashes><name><number>: kazoo
	OfSession = znode.OfSession // <name><session id>-<number>: WriteLock of ZooKeeper's Java recipes
	Plain     = znode.Plain     // <name><number>: LeaderElectionSupport of ZooKeeper's Java recipes
	Alone     = znode.Alone     // the znode at the path itself: there is no queue
)
