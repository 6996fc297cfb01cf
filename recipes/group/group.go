package group

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/group/internal/member"
	"github.com/troupe-go/troupe/session"
)

// ErrDuplicate means that another live member has the name. It ends the [Membership].
var ErrDuplicate = member.ErrDuplicate

// Group is a handle of the group on a path. It is safe for concurrent use.
type Group struct {
	session *session.Session
	path    string
	life    *recipe.Handle
	acl     []session.ACL

	mu     sync.Mutex
	joined map[*Membership]struct{} // by this handle, and not over
}

// Member is a member of a group, or the argument of Join.
type Member struct {
	Name string // also of its znode: unique in the group
	Data []byte // receivers of views share them, and must not change them

	// In views: the zxid of the registration, which grows with each one; the ZooKeeper session that
	// owns it; the time of the registration, by the server's clock.
	Token     int64
	SessionID int64
	Since     time.Time

	// In views: this session may not read the znode. Then only the Name is known, and not whether
	// the member has registered again. A znode that is not a member's but can't be read either
	// looks the same.
	Unread bool
}

// View is the set of members at some moment.
type View struct {
	Members []Member // sorted by name
	Stale   bool     // the connection is down: this is the last known state
}

// New returns a handle of the group at a path. It does no I/O. Errors name the invalid argument.
func New(s *session.Session, path string, opts ...Option) (*Group, error) {
	if err := recipe.CheckNew("group.New", s, "path", path); err != nil {
		return nil, err
	}
	var o options
	if err := recipe.Apply(&o, opts); err != nil {
		return nil, recipe.Failed(s, "group.New", path, err)
	}
	return &Group{acl: o.acl, session: s, path: path, life: recipe.NewHandle(s, "group", path), joined: make(map[*Membership]struct{})}, nil
}

// Close ends this handle: its calls end with session.ErrClosed, the channels of its observers
// close, and its memberships are left. It returns when ZooKeeper has confirmed that they are
// gone. If ctx ends first its cause is returned, and the deletions go on in the background until
// the epoch ends. It is idempotent.
func (g *Group) Close(ctx context.Context) error {
	g.mu.Lock()
	g.life.Close()
	members := slices.Collect(maps.Keys(g.joined))
	g.mu.Unlock()
	errs := make([]error, len(members))
	var leaving sync.WaitGroup
	for n, m := range members {
		leaving.Go(func() { errs[n] = m.Leave(ctx) }) // ends with ctx at the latest
	}
	leaving.Wait()
	return recipe.Failed(g.session, "close", g.path, errors.Join(errs...))
}

// Done closes when the handle has ended: by Close, or with its session.
func (g *Group) Done() <-chan struct{} { return g.life.Done() }

// Err is nil exactly while Done is open. Afterwards it is session.ErrClosed.
func (g *Group) Err() error { return g.life.Err() }

// Members reads the current members, after a session.Session.Sync: if the session is connected to
// the leader, one that has joined within the last milliseconds may be missing. A group that does
// not exist has no members. A member that leaves during the read may be missing. Errors:
// session.ErrNoAuth if the ACL forbids to list the group; session.ErrClosed; ctx's cause.
func (g *Group) Members(ctx context.Context) (View, error) {
	ctx, leave := g.life.Within(ctx)
	defer leave()
	v, err := g.members(ctx)
	return v, recipe.Failed(g.session, "members", g.path, err)
}

func (g *Group) members(ctx context.Context) (View, error) {
	if err := g.session.Sync(ctx, g.path); err != nil {
		return View{}, err
	}
	names, _, err := g.session.Children(ctx, g.path)
	if errors.Is(err, session.ErrNoNode) {
		return View{}, nil
	}
	if err != nil {
		return View{}, err
	}
	var v View
	for _, name := range names {
		data, stat, err := g.session.Get(ctx, znode.Join(g.path, name))
		switch {
		case err == nil && stat.EphemeralOwner != 0:
			v.Members = append(v.Members, memberOf(name, data, stat))
		case errors.Is(err, session.ErrNoAuth):
			v.Members = append(v.Members, Member{Name: name, Unread: true})
		case err != nil && !errors.Is(err, session.ErrNoNode):
			return View{}, err
		}
	}
	v.sort()
	return v, nil
}

func memberOf(name string, data []byte, stat session.Stat) Member {
	return Member{Name: name, Data: member.Data(data), Token: stat.Czxid, SessionID: stat.EphemeralOwner, Since: stat.Ctime}
}

func (v *View) sort() {
	slices.SortFunc(v.Members, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
}

// Change is the difference between two views, each part sorted by name.
type Change struct {
	Joined  []Member // only in the new view; or registered again since
	Left    []Member // only in the old view; or registered again since: as they were
	Updated []Member // the same registration, with other data; or Unread in one of the views
}

// Diff returns the changes from one view to another. A member that has registered again in between
// has left and joined.
func Diff(old, next View) Change {
	var c Change
	before := make(map[string]Member, len(old.Members))
	for _, m := range old.Members {
		before[m.Name] = m
	}
	now := make(map[string]Member, len(next.Members))
	for _, m := range next.Members {
		now[m.Name] = m
		was, there := before[m.Name]
		switch {
		case !there || rejoined(was, m):
			c.Joined = append(c.Joined, m)
		case was.Unread != m.Unread || !bytes.Equal(was.Data, m.Data):
			c.Updated = append(c.Updated, m)
		}
	}
	for _, m := range old.Members {
		if is, there := now[m.Name]; !there || rejoined(m, is) {
			c.Left = append(c.Left, m)
		}
	}
	return c
}

// rejoined tells whether a member has registered again, as far as that is known.
func rejoined(was, is Member) bool { return !was.Unread && !is.Unread && was.Token != is.Token }

func checkName(name string) error {
	switch err := znode.Validate("/" + name); {
	case name == "":
		return errors.New("member: name: empty")
	case strings.Contains(name, "/"):
		return errors.New("member: name: contains a slash")
	case err != nil:
		return fmt.Errorf("member: name: %w", err)
	}
	return nil
}

// Option configures a Group.
type Option func(*options) error

type options struct{ acl []session.ACL } // nil: the session's

// WithACL sets the ACL of the znodes that the group creates, those above them included. Without it
// they get the session's. A znode that exists keeps its own.
func WithACL(acl ...session.ACL) Option {
	return func(o *options) error { return recipe.SetACL(&o.acl, acl) }
}
