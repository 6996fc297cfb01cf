package zkserver_test

// A server that becomes older at once does what it would have done meanwhile.

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/internal/zkserver"
	"github.com/troupe-go/troupe/internal/zkserver/tree"
	"github.com/troupe-go/troupe/internal/zkserver/treefile"
)

// fill gives servers the same znodes: ephemerals of clients that are gone, and TTL znodes, both in
// containers, and some of these in containers.
func fill(t *testing.T, rnd *rand.Rand, servers ...*zkserver.Server) {
	t.Helper()
	put := func(s *zkserver.Server, path string, owner, session int64, flags int32) {
		_, err := zkserver.Admin{Server: s}.Create(&treefile.Znode{Path: path, ACL: jute.OpenACL(), Owner: owner}, session, flags)
		require.NoError(t, err)
	}
	for i := range 20 {
		timeout, ttl := 1000*(1+rnd.Int32N(4000)), tree.OwnerTTL(1+rnd.Int64N(4_000_000))
		for _, s := range servers {
			conn := dial(t, s)
			_, err := conn.Write(frame((&jute.ConnectRequest{Timeout: timeout, Password: make([]byte, 16)}).Encode))
			require.NoError(t, err)
			_, err = conn.Read(make([]byte, 100))
			require.NoError(t, err)
			require.NoError(t, conn.Close())
			all := s.Sessions()
			outer := fmt.Sprint("/outer", i)
			put(s, outer, tree.OwnerContainer, 0, jute.FlagPersistent)
			put(s, outer+"/inner", tree.OwnerContainer, 0, jute.FlagPersistent)
			put(s, outer+"/inner/mine", 0, all[len(all)-1].ID, jute.FlagEphemeral)
			put(s, outer+"/ttl", ttl, 0, jute.FlagPersistent)
			put(s, fmt.Sprint("/ttl", i), ttl, 0, jute.FlagPersistent)
		}
		time.Sleep(time.Duration(rnd.Int64N(int64(time.Second))))
	}
}

// For one server an hour passes; others skip it, or parts of it. Their transactions are the same,
// with their numbers.
func TestATimeThatIsSkippedIsAsOneThatPasses(t *testing.T) {
	t.Parallel()
	for _, fronts := range []int{1, 3} {
		t.Run(fmt.Sprint(fronts), func(t *testing.T) {
			cfg := zkserver.Config{Fronts: fronts, MaxTimeout: 2 * time.Hour, Seed: 7}
			inBubble(t, cfg, func(t *testing.T, passes *zkserver.Server) {
				skips, mixes := start(t, cfg), start(t, cfg)
				fill(t, rand.New(rand.NewPCG(tier.Seed(t.Name()), 0)), passes, skips, mixes)
				before := passes.Dump()

				skip := func(s *zkserver.Server, d time.Duration) {
					require.NoError(t, zkserver.Admin{Server: s}.FastForward(d))
				}
				skip(skips, time.Hour)
				skipped := skips.Dump()
				skip(mixes, 20*time.Minute+25*time.Second)
				time.Sleep(20*time.Minute - 50*time.Second)
				skip(mixes, 20*time.Minute+25*time.Second)
				mixed := mixes.Dump()
				time.Sleep(40*time.Minute + 50*time.Second)

				passed := passes.Dump()
				require.NotEqual(t, before, passed)
				require.Contains(t, passed, "/inner/mine", "not all is over")
				require.Equal(t, passed, skipped)
				require.Equal(t, passed, mixed)
			})
		})
	}
}

// What a server has heard of a client and not yet told the leader counts, as at the next ping.
func TestAClientThatWasHeardOfBeforeATimeThatIsSkipped(t *testing.T) {
	inBubble(t, zkserver.Config{Fronts: 3}, func(t *testing.T, s *zkserver.Server) {
		conn := dial(t, s)
		_, err := conn.Write(hello()) // of 10 seconds
		require.NoError(t, err)
		time.Sleep(9 * time.Second)
		_, err = conn.Write(frame((&jute.Request{Op: jute.OpPing, Xid: jute.XidPing}).Encode))
		require.NoError(t, err)
		synctest.Wait()
		require.NoError(t, conn.Close())
		synctest.Wait()
		require.NoError(t, zkserver.Admin{Server: s}.FastForward(8*time.Second))
		require.Len(t, s.Sessions(), 1)
		require.NoError(t, zkserver.Admin{Server: s}.FastForward(4*time.Second))
		require.Empty(t, s.Sessions())
	})
}

// After a part of the interval was skipped, the next check comes earlier.
func TestTheNextCheckAfterATimeThatIsSkipped(t *testing.T) {
	inBubble(t, zkserver.Config{}, func(t *testing.T, s *zkserver.Server) {
		admin := zkserver.Admin{Server: s}
		_, err := admin.Create(&treefile.Znode{Path: "/ttl", ACL: jute.OpenACL(), Owner: tree.OwnerTTL(45_000)}, 0, 0)
		require.NoError(t, err)
		require.NoError(t, admin.FastForward(30*time.Second))
		time.Sleep(30*time.Second + 1)
		require.NotContains(t, s.Dump(), "/ttl")
	})
}

// A hundred years with a check each millisecond, for znodes that live almost as long.
func TestALongTimeIsSkippedAtOnce(t *testing.T) {
	inBubble(t, zkserver.Config{ContainerCheck: time.Millisecond}, func(t *testing.T, s *zkserver.Server) {
		admin := zkserver.Admin{Server: s}
		const year = 365 * 24 * time.Hour
		for i, years := range []time.Duration{1, 20, 34} {
			_, err := admin.Create(&treefile.Znode{Path: fmt.Sprint("/", i), ACL: jute.OpenACL(), Owner: tree.OwnerTTL((years * year).Milliseconds())}, 0, 0)
			require.NoError(t, err)
		}
		for _, left := range []int{2, 2, 1, 0} {
			require.NoError(t, admin.FastForward(10*year))
			require.Equal(t, left, strings.Count(fmt.Sprint(written(t, s)), `"kind"`))
		}
		require.ErrorContains(t, admin.FastForward(-1), "-1ns is negative")
		require.ErrorContains(t, admin.FastForward(61*year), "more than 876000h0m0s")
		require.NoError(t, admin.FastForward(60*year))
	})
}
