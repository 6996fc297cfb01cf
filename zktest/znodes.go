package zktest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver"
	"github.com/troupe-go/troupe/internal/zkserver/tree"
	"github.com/troupe-go/troupe/internal/zkserver/treefile"
)

// Znodes is the tree of a server, for a test that prepares it, waits for it and checks it without a
// client. ACLs do not matter here. A call sees the last transaction, of whichever client and
// server, and is itself one transaction or none. Clients that watch get events.
//
// Errors are the codes [ErrNoNode], [ErrNodeExists] and [ErrBadArguments] (an invalid path, or one
// of ZooKeeper's own znodes, which cannot be deleted), wrapped with the path. Await…, Check… and
// Exists fail the test, and are for its goroutine alone (Exists fails it only after Close, or for
// what is no path); the others may be called by any.
type Znodes struct {
	admin  zkserver.Admin
	server *Server
	test   TB
}

// Znodes returns the tree. Its waits and checks fail t, which may be a subtest; nil is the test of
// [Start], or after [New] none: then they panic. If t has failed when it ends, the server's
// [Server.Dump] is logged.
func (s *Server) Znodes(t TB) Znodes {
	if t == nil {
		t = s.test
	}
	showIfFailed(s, t)
	return Znodes{zkserver.Admin{Server: s.inner}, s, t}
}

// Create creates a znode, and its missing parents. It is persistent and every client can access it,
// unless an option says otherwise. For ephemeral znodes see [Server.Join].
func (z Znodes) Create(path string, data []byte, opts ...CreateOption) error {
	_, err := create(z.admin, 0, jute.FlagPersistent, path, data, opts)
	return err
}

func create(a zkserver.Admin, session int64, flags int32, path string, data []byte, opts []CreateOption) (string, error) {
	z := treefile.Znode{Path: path, Data: slices.Clone(data)}
	for _, o := range opts {
		if err := o(&z); err != nil {
			return "", fmt.Errorf("create %q: %w", path, err)
		}
	}
	if z.ACL == nil {
		z.ACL = jute.OpenACL()
	}
	return a.Create(&z, session, flags)
}

// CreateOption says what kind of znode Create creates, and with which ACL.
type CreateOption func(*treefile.Znode) error

// Container creates a container: the server deletes it some time after its last child is gone, see
// [WithContainerCheck].
func Container() CreateOption {
	return func(z *treefile.Znode) error { z.Owner = tree.OwnerContainer; return nil }
}

// TTL creates a znode that the server deletes when it has no children and its data have not changed
// for d; see [WithContainerCheck].
func TTL(d time.Duration) CreateOption {
	return func(z *treefile.Znode) error {
		if ms := d.Milliseconds(); ms < 1 || ms > tree.MaxTTL {
			return fmt.Errorf("TTL: %v is out of range", d)
		}
		z.Owner = tree.OwnerTTL(d.Milliseconds())
		return nil
	}
}

// WithACL adds an entry to the znode's ACL, in the form of [Server.Load]: perms are letters of
// "cdrwa" (create, delete, read, write, administer). Without an entry every client may do all.
func WithACL(perms, scheme, id string) CreateOption {
	return func(z *treefile.Znode) error {
		bits, err := treefile.ParsePerms(perms)
		if err != nil {
			return fmt.Errorf("WithACL: %w", err)
		}
		z.ACL = append(z.ACL, jute.ACL{Perms: bits, Scheme: scheme, ID: id})
		return nil
	}
}

// Set replaces the data of a znode, whatever its version.
func (z Znodes) Set(path string, data []byte) error { return z.admin.Set(path, slices.Clone(data)) }

// Delete deletes a znode, ephemeral or not, and everything below it.
func (z Znodes) Delete(path string) error { return z.admin.Delete(path) }

// Get returns the data of a znode; nil if it has none.
func (z Znodes) Get(path string) (data []byte, err error) {
	err = z.admin.Show("get", path, func(n *tree.Node) { data = slices.Clone(n.Data()) })
	return data, err
}

// Children returns the names of a znode's children, sorted.
func (z Znodes) Children(path string) (names []string, err error) {
	err = z.admin.Show("children of", path, func(n *tree.Node) {
		n.Children(func(c *tree.Node) { names = append(names, strings.Clone(c.Name())) })
		slices.Sort(names)
	})
	return names, err
}

// Exists reports whether there is a znode at the path.
func (z Znodes) Exists(path string) bool {
	_, err := z.Stat(path)
	if err != nil && !errors.Is(err, ErrNoNode) {
		z.test.Fatalf("zktest: %v", err)
	}
	return err == nil
}

// Stat is what ZooKeeper keeps about a znode beside its data.
type Stat struct {
	Czxid          int64 // the transaction that created it
	Mzxid          int64 // the transaction that last changed its data
	Ctime          int64 // when it was created, in milliseconds since 1970
	Mtime          int64 // when its data were last changed
	Version        int32 // changes of its data
	Cversion       int32 // changes of its children
	Aversion       int32 // changes of its ACL
	EphemeralOwner int64 // the session that it ends with; 0: none
	DataLength     int32 // bytes of data
	NumChildren    int32
	Pzxid          int64 // the transaction that last added or removed a child
}

// Stat describes a znode.
func (z Znodes) Stat(path string) (s Stat, err error) {
	err = z.admin.Show("stat", path, func(n *tree.Node) { s = Stat(n.Stat()) })
	return s, err
}

// Watch tells what a client watches at a path, where there need not be a znode.
type Watch struct {
	Path       string
	SessionID  int64
	Data       bool // the znode itself
	Children   bool // its list of children
	Persistent bool // the watch stays when it has fired
	Recursive  bool // the znode and all below it; persistent too
}

// Watches lists what all clients watch, by path and session.
func (z Znodes) Watches() (all []Watch) {
	for _, w := range z.admin.Watches() {
		all = append(all, Watch(w))
	}
	return all
}

// Count returns how many requests of a kind the journal has: see [Server.Journal] and
// [Server.ClearJournal]. The parts of a multi are not counted, and without a journal nothing is.
func (z Znodes) Count(op Op) (n int) {
	for _, q := range z.server.Journal() {
		if q.Op == op {
			n++
		}
	}
	return n
}
