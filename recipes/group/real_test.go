package group_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/group"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// patience bounds what happens on real servers and a busy machine.
const patience = time.Minute

// The group's whole life on real servers, one and three; on three, a server that members are
// connected to is killed.
func TestOnRealServers(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	for _, n := range tier.Servers() {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			e := ensemble.Start(t, n)
			observer, err := group.New(real(t, e.Servers()), path)
			require.NoError(t, err)
			views := observer.Observe(t.Context())
			var members []*group.Membership
			for i := range 3 {
				g, err := group.New(real(t, e.Servers(), session.WithTimeout(20*time.Second)), path)
				require.NoError(t, err)
				m, err := g.Join(group.Member{ID: fmt.Sprint("m", i), Data: []byte("1")})
				require.NoError(t, err)
				soonClosed(t, m.Joined())
				members = append(members, m)
			}
			until(t, views, "m0=1 m1=1 m2=1")
			require.NoError(t, members[1].Update(t.Context(), []byte("2")))
			until(t, views, "m0=1 m1=2 m2=1")
			if n == 3 {
				e.Kill(0)
				require.NoError(t, members[2].Update(t.Context(), []byte("3")))
				until(t, views, "m0=1 m1=2 m2=3")
				require.NoError(t, e.Restart(0))
			}
			for _, m := range members {
				require.NoError(t, m.Err())
				require.NoError(t, m.Leave(t.Context()))
			}
			until(t, views, "")
		})
	}
}

// real opens a session on real servers, one that a busy machine does not lose.
func real(t *testing.T, servers []string, opts ...session.Option) *session.Session {
	t.Helper()
	return bubble.Open(t, servers, append([]session.Option{session.WithTimeout(20 * time.Second)}, opts...)...)
}

func soonClosed(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		t.Fatal("not in time")
	}
}

// until receives views until one is as wanted.
func until(t *testing.T, views <-chan group.View, want string) {
	t.Helper()
	last := "none"
	deadline := time.After(patience)
	for {
		select {
		case v := <-views:
			if last = ids(v); last == want && !v.Stale {
				return
			}
		case <-deadline:
			t.Fatalf("%q is not seen; last %q", want, last)
		}
	}
}
