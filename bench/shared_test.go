package bench_test

// Shared locks, beside bare requests.

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

const readers, writers = 8, 2

// BenchmarkShared is a shared lock under eight readers and two writers, a session each, who take
// and release it as fast as they can, on one server and on three. One cycle is five turns of each
// of the ten.
func BenchmarkShared(b *testing.B) {
	for _, servers := range []int{1, 3} {
		b.Run(fmt.Sprint(servers), func(b *testing.B) {
			e := ensemble.Start(b, servers)
			compare(b, e,
				&form{name: "troupe", cycle: whole(everybody(troupeParties(b, e.Servers())))},
				&form{name: "same", cycle: whole(everybody(rawParties(b, e.Servers(), true)))},
				&form{name: "least", cycle: whole(everybody(rawParties(b, e.Servers(), false)))})
		})
	}
}

// everybody lets all parties take five turns, at the same time.
func everybody(parties []func()) func() {
	return func() {
		var all sync.WaitGroup
		for _, turn := range parties {
			all.Go(func() {
				for range 5 {
					turn()
				}
			})
		}
		all.Wait()
	}
}

func troupeParties(b *testing.B, servers []string) (parties []func()) {
	b.Helper()
	ctx := b.Context()
	for i := range readers + writers {
		construct := lock.NewRead
		if i < writers {
			construct = lock.NewWrite
		}
		l, err := construct(open(b, turned(servers, i)), dirFor(b, "troupe"))
		require.NoError(b, err)
		parties = append(parties, func() {
			g, err := l.Lock(ctx)
			if err == nil {
				err = g.Release(ctx)
			}
			if err != nil {
				b.Error(err)
			}
		})
	}
	return parties
}

// turned begins the list of servers with another one, so that the sessions spread in the same way
// in all forms.
func turned(servers []string, by int) []string {
	by %= len(servers)
	return append(append([]string(nil), servers[by:]...), servers[:by]...)
}

func rawParties(b *testing.B, servers []string, same bool) (parties []func()) {
	b.Helper()
	form := map[bool]string{true: "same", false: "least"}[same]
	for i := range readers + writers {
		side := "read-"
		if i < writers {
			side = "write-"
		}
		r := newRaw(b, turned(servers, i)[:1], dirFor(b, form))
		parties = append(parties, func() { r.share(b, side, same) })
	}
	return parties
}

// share is one turn of a shared lock, bare: create, list, watch whoever is in the way until nobody
// is, delete.
func (r *raw) share(tb testing.TB, side string, same bool) {
	own, err := r.conn.Create(r.dir+"/_c_0123456789abcdef0123456789abcdef-"+side, nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
	if err != nil {
		tb.Error(err)
		return
	}
	if same {
		if _, _, _, err = r.conn.GetW(own); err != nil {
			tb.Error(err)
		}
	}
	for {
		ahead := inTheWay(r.list(tb), path.Base(own), side == "read-")
		if ahead == "" {
			break
		}
		_, _, gone, err := r.conn.GetW(r.dir + "/" + ahead)
		if errors.Is(err, zk.ErrNoNode) {
			continue
		}
		if err != nil {
			tb.Error(err)
			return
		}
		<-gone
	}
	r.delete(tb, own)
}

// inTheWay is the last before own that it has to wait for; "" if there is none.
func inTheWay(names []string, own string, reads bool) string {
	last := ""
	for _, name := range names {
		if name == own {
			break
		}
		if !reads || strings.Contains(name, "-write-") {
			last = name
		}
	}
	return last
}
