package misuse_test

import (
	"fmt"
	"strings"

	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/recipes/config"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/group"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/recipes/naming"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
)

// constructor is what the constructors of all recipes have in common.
type constructor struct {
	name string
	make func(s *session.Session, path string) error
	none func(s *session.Session) error                     // with a nil option
	acl  func(s *session.Session, acl ...session.ACL) error // with this WithACL
}

func made[T, O any](name string, make func(*session.Session, string, ...O) (T, error), acl func(...session.ACL) O) constructor {
	return constructor{
		name: name,
		make: func(s *session.Session, path string) error { return of(make(s, path)) },
		none: func(s *session.Session) error { var none O; return of(make(s, "/a", none)) },
		acl:  func(s *session.Session, a ...session.ACL) error { return of(make(s, "/a", acl(a...))) },
	}
}

func constructors(w *world) []constructor {
	return []constructor{
		made("lock.New", lock.New, lock.WithACL),
		made("lock.NewRead", lock.NewRead, lock.WithACL),
		made("lock.NewWrite", lock.NewWrite, lock.WithACL),
		made("lock.NewSemaphore", func(s *session.Session, path string, opts ...lock.Option) (*lock.Lock, error) {
			return lock.NewSemaphore(s, path, 3, opts...)
		}, lock.WithACL),
		made("election.New", election.New, election.WithACL),
		made("barrier.New", barrier.New, barrier.WithACL),
		made("barrier.NewDouble", func(s *session.Session, path string, opts ...barrier.Option) (*barrier.Double, error) {
			return barrier.NewDouble(s, path, 2, opts...)
		}, barrier.WithACL),
		made("queue.New", queue.New, queue.WithACL),
		made("group.New", group.New, group.WithACL),
		made("naming.New", naming.New, naming.WithACL),
		made("config.New", func(s *session.Session, path string, opts ...config.Option) (*config.Cell[string], error) {
			return config.New(s, path, config.Text(), opts...)
		}, config.WithACL),
		made("config.Open", func(s *session.Session, path string, opts ...config.Option) (*config.Cell[string], error) {
			return config.Open(w.Context(), s, path, config.Text(), opts...)
		}, config.WithACL),
		made("twopc.NewCoordinator", twopc.NewCoordinator, twopc.WithACL),
		made("twopc.NewSite", func(s *session.Session, path string, opts ...twopc.Option) (*twopc.Site, error) {
			return twopc.NewSite(s, path, "a", opts...)
		}, twopc.WithACL),
	}
}

// notPaths are no paths of ZooKeeper.
var notPaths = []string{"", "a", "a/b", "/a/", "//", "/a//b", "/a/./b", "/a/..", "/a\x00b", "/a\x01", "/\xff"}

// notACLs are no ACLs of ZooKeeper.
var notACLs = [][]session.ACL{
	nil, {{Perms: session.PermAll}}, {{Scheme: "world", ID: "anyone"}}, {{Perms: 64, Scheme: "world", ID: "anyone"}},
}

// everyRecipe is what the constructors of all recipes refuse.
func everyRecipe(w *world) (rows []row) {
	for _, c := range constructors(w) {
		path := map[bool]string{true: "root: ", false: "path: "}[c.name == "naming.New"]
		add := func(what string, try func() error, is error, says string) {
			rows = append(rows, row{c.name + ": " + what, try, is, says})
		}
		at := func(s *session.Session, path string) func() error { return func() error { return c.make(s, path) } }
		add("no session", at(nil, "/a"), nil, c.name+": s: nil session")
		add("a closed session", at(w.closed, "/a"), session.ErrClosed, "s: the session is closed")
		for _, bad := range notPaths {
			add(fmt.Sprintf("path %q", bad), at(w.s, bad), session.ErrInvalidPath, path)
		}
		for _, bad := range []string{"/", "/zookeeper", "/zookeeper/quota"} {
			add("path "+bad, at(w.s, bad), session.ErrInvalidPath, path)
		}
		add("path in the namespace /zookeeper", at(w.system, "/a"), session.ErrInvalidPath, path)
		add("a nil option", func() error { return c.none(w.s) }, nil, "opts[0]: nil")
		for i, acl := range notACLs {
			pkg, _, _ := strings.Cut(c.name, ".")
			rows = append(rows, row{
				fmt.Sprintf("%s.WithACL: %s, ACL %d", pkg, c.name, i), func() error { return c.acl(w.s, acl...) },
				session.ErrInvalidACL, "WithACL: acl: ",
			})
		}
	}
	return rows
}
