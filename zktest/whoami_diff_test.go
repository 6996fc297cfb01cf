package zktest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/tier"
)

// The order in which a connection's identities come, in the answer to whoAmI and in the ACL that
// "auth" stands for, is that of a hash table in the real server. The number of users goes past two
// of its sizes.
func TestIdentitiesComeInTheOrderOfTheRealServer(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	ours, real := pair(t, time.Minute)
	both(t, ours, real, func(t *testing.T, servers []string, say func(string, ...any)) {
		for _, users := range []int{0, 1, 2, 3, 5, 8, 11, 12, 13, 30, 60} {
			c, _ := hello(t, servers[0], jute.ConnectRequest{Timeout: 30000})
			for i := range users {
				p, err := c.do(jute.Request{Op: jute.OpSetAuth, Scheme: "digest", Data: fmt.Appendf(nil, "user%d:%d", i*i, i)})
				require.NoError(t, err)
				require.Equal(t, jute.OK, p.Err)
			}
			p, err := c.do(jute.Request{Op: jute.OpWhoAmI})
			require.NoError(t, err)
			say("%d users: %v", users, p.Identity)
			if users > 0 {
				path := fmt.Sprintf("/of-%d", users)
				p, err = c.do(jute.Request{Op: jute.OpCreate, Path: path, ACL: []jute.ACL{{Perms: jute.PermAll, Scheme: "auth"}}})
				require.NoError(t, err)
				require.Equal(t, jute.OK, p.Err)
				p, err = c.do(jute.Request{Op: jute.OpGetACL, Path: path})
				require.NoError(t, err)
				say("%v", p.ACL)
			}
		}
	})
}
