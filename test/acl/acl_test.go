// The ACL of what each recipe makes: see also recipes/lock/life_test.go.
package acl_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/recipes/config"
	"github.com/troupe-go/troupe/recipes/group"
	"github.com/troupe-go/troupe/recipes/naming"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
)

func TestMain(m *testing.M) { tier.Main(m) }

// rows make a recipe's znodes at /x/y and return the error of WithACL, if it is wrong.
var rows = map[string]func(ctx context.Context, s *session.Session, acl []session.ACL) error{
	"barrier": func(ctx context.Context, s *session.Session, acl []session.ACL) error {
		b, err := barrier.New(s, "/x/y", barrier.WithACL(acl...))
		if err != nil {
			return err
		}
		return b.Raise(ctx)
	},
	"double barrier": func(ctx context.Context, s *session.Session, acl []session.ACL) error {
		d, err := barrier.NewDouble(s, "/x/y", 2, barrier.WithACL(acl...))
		if err != nil {
			return err
		}
		d.Arrive()
		time.Sleep(time.Second)
		return d.Break(ctx)
	},
	"queue": func(ctx context.Context, s *session.Session, acl []session.ACL) error {
		q, err := queue.New(s, "/x/y", queue.WithACL(acl...), queue.WithCapacity(3), queue.WithMaxAttempts(2))
		if err != nil {
			return err
		}
		received := func(returned ...queue.NackOption) error {
			i, err := q.Take(ctx)
			if err == nil {
				err = i.Nack(ctx, returned...)
			}
			return err
		}
		if _, err = q.Put(ctx, nil, queue.WithID("pauses")); err == nil {
			err = received(queue.After(time.Hour))
		}
		if err == nil {
			_, err = q.Put(ctx, nil, queue.WithID("dead"))
		}
		if err == nil {
			err = errors.Join(received(queue.After(0)), received())
		}
		return err
	},
	"twopc": func(ctx context.Context, s *session.Session, acl []session.ACL) error {
		if _, err := twopc.NewSite(s, "/x/y", "a", twopc.WithACL(acl...)); err != nil {
			return err
		}
		c, err := twopc.NewCoordinator(s, "/x/y", twopc.WithACL(acl...))
		if err == nil {
			_, err = c.Begin(ctx, "t", nil, "a")
		}
		return err
	},
	"group": func(ctx context.Context, s *session.Session, acl []session.ACL) error {
		g, err := group.New(s, "/x/y", group.WithACL(acl...))
		if err != nil {
			return err
		}
		m, err := g.Join(group.Member{ID: "a"})
		if err == nil {
			<-m.Joined()
		}
		return err
	},
	"config": func(ctx context.Context, s *session.Session, acl []session.ACL) error {
		c, err := config.New(s, "/x/y", config.Text(), config.WithACL(acl...))
		if err == nil {
			_, err = c.Update(ctx, func(string) (string, error) { return "a", nil })
		}
		return err
	},
	"naming": func(ctx context.Context, s *session.Session, acl []session.ACL) error {
		n, err := naming.New(s, "/x/y", naming.WithACL(acl...))
		if err == nil {
			err = n.Bind(ctx, "a/b", []byte("a"))
		}
		return err
	},
}

func TestWithACL(t *testing.T) {
	for name, made := range rows {
		t.Run(name, func(t *testing.T) {
			bubble.Run(t, func(w *bubble.World) {
				s := w.Host("a", session.WithAuth("digest", []byte("alice:secret"))).Session
				require.NoError(w, made(w.Context(), s, zk.DigestACL(zk.PermAll, "alice", "secret")))
				time.Sleep(time.Minute) // what is over is deleted
				found := 0
				var look func(at string)
				look = func(at string) {
					acl, _, err := s.ACL(w.Context(), at)
					require.NoError(w, err)
					require.True(w, len(acl) == 1 && strings.HasPrefix(acl[0].ID, "alice:"), "%s: %v", at, acl)
					found++
					names, _, err := s.Children(w.Context(), at)
					require.NoError(w, err)
					for _, name := range names {
						look(at + "/" + name)
					}
				}
				look("/x")
				require.Greater(w, found, 1)
			}, bubble.Brisk()...)
		})
	}
}
