package interop_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// pairing is a lock of theirs, and what ours has to be beside it.
type pairing struct {
	theirs  func(t *testing.T, address, path string) contender
	layout  lock.Layout
	patient bool // theirs cannot give up waiting
}

// Their locks that stand in one line with Troupe's: in Troupe's own layout, and in theirs.
var exclusive = map[string]pairing{
	"curator":                 {theirs: maker{driver: javaDriver, client: "curator", recipe: "mutex"}.contender, layout: lock.Troupe},
	"selector":                {theirs: maker{driver: javaDriver, client: "curator", recipe: "selector"}.contender, layout: lock.Troupe},
	"kazoo":                   {theirs: maker{driver: kazooDriver, client: "kazoo", recipe: "lock-beside"}.contender, layout: lock.Troupe},
	"kazoo in its own":        {theirs: maker{driver: kazooDriver, client: "kazoo", recipe: "lock"}.contender, layout: lock.Kazoo},
	"writelock":               {theirs: maker{driver: javaDriver, client: "zookeeper", recipe: "writelock"}.contender, layout: lock.Troupe},
	"writelock in its own":    {theirs: maker{driver: javaDriver, client: "zookeeper", recipe: "writelock"}.contender, layout: lock.JavaWriteLock},
	"go-zookeeper":            {theirs: newGozk, layout: lock.Troupe, patient: true},
	"go-zookeeper in its own": {theirs: newGozk, layout: lock.GoZooKeeper, patient: true},
}

func (p pairing) us(t *testing.T, address, path string) *ours {
	t.Helper()
	return ourLock(t, alone, lock.New, address, path, lock.WithLayout(p.layout))
}

func (p pairing) them(t *testing.T, address, path string) contender {
	t.Helper()
	return p.theirs(t, address, path)
}

// Two of ours and two of theirs, for a while; some give up waiting.
func TestLocksTogether(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	onBoth(t, func(t *testing.T, address string) {
		s := open(t, address)
		each(t, exclusive, func(t *testing.T, p pairing) {
			path := pathFor(t)
			contend(t, s, path, 15,
				p.us(t, address, path),
				p.them(t, address, path),
				p.us(t, address, path),
				p.them(t, address, path))
		})
	})
}

// The same while everybody's connections break again and again. Not with WriteLock, which in a
// retry looks for its znode under the wrong name.
func TestLocksTogetherWhileConnectionsBreak(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	onBoth(t, func(t *testing.T, address string) {
		s := open(t, address)
		for _, name := range []string{"curator", "kazoo", "kazoo in its own"} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				path, p, proxy := pathFor(t), exclusive[name], through(t, address)
				g := newGuard(t, s, path+"-guard")
				g.disturb = func(nth int) {
					if nth%5 == 0 {
						proxy.Reset() // while somebody holds, and others wait
					}
				}
				g.contend(t, s, path, 8,
					p.us(t, proxy.Addr(), path),
					p.them(t, proxy.Addr(), path),
					p.us(t, proxy.Addr(), path),
					p.them(t, proxy.Addr(), path))
			})
		}
	})
}

// The same on three servers whose leader dies while somebody holds, and comes back.
func TestLocksTogetherWhileTheLeaderDies(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	for _, name := range []string{"curator", "kazoo"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := ensemble.Start(t, 3)
			servers := strings.Join(e.Servers(), ",")
			s, path, p := open(t, servers), pathFor(t), exclusive[name]
			g, dead := newGuard(t, s, path+"-guard"), -1
			g.disturb = func(nth int) {
				switch nth {
				case 6:
					dead = bubble.Leader(t, e)
					e.Kill(dead)
				case 14:
					if err := e.Restart(dead); err != nil {
						g.fault(err.Error())
					}
				}
			}
			g.contend(t, s, path, 8, p.us(t, servers, path), p.them(t, servers, path), p.us(t, servers, path), p.them(t, servers, path))
			require.Greater(t, len(g.order), 14, "it came back")
		})
	}
}

// Who comes first is first, whoever it is.
func TestLocksGoByArrival(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	onBoth(t, func(t *testing.T, address string) {
		s := open(t, address)
		each(t, exclusive, func(t *testing.T, p pairing) {
			path := pathFor(t)
			arrivals(t, s, path,
				p.them(t, address, path),
				p.us(t, address, path),
				p.us(t, address, path),
				p.them(t, address, path),
				p.them(t, address, path),
				p.us(t, address, path))
		})
	})
}

// Who looks at the line with Troupe sees everybody in it, in order, with their sessions.
func TestTheWholeLineIsSeen(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	onBoth(t, func(t *testing.T, address string) {
		s := open(t, address)
		each(t, exclusive, func(t *testing.T, p pairing) {
			path := pathFor(t)
			first := p.us(t, address, path)
			holds(t, first)
			line := []contender{first, p.them(t, address, path), p.us(t, address, path), p.them(t, address, path)}
			var waiting []<-chan outcome
			want := []int64{line[0].id()}
			for i, c := range line[1:] {
				waiting = append(waiting, begin(c))
				inLine(t, s, path, i+2)
				want = append(want, c.id())
			}
			seen, err := first.lock.Contenders(t.Context())
			require.NoError(t, err)
			var got []int64
			for i, c := range seen {
				got = append(got, c.SessionID)
				require.Equal(t, i == 0, c.Holding)
			}
			require.Equal(t, want, got)
			for i, c := range line {
				require.NoError(t, c.release())
				if i < len(waiting) {
					require.NoError(t, (<-waiting[i]).err)
				}
			}
		})
	})
}

// A waiter that gives up leaves the others where they were: behind the holder.
func TestLockWaiterGivesUp(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	onBoth(t, func(t *testing.T, address string) {
		s := open(t, address)
		each(t, exclusive, func(t *testing.T, p pairing) {
			orders := []string{"us them us", "them them us", "them us them", "us us them"}
			if p.patient {
				orders = []string{"us us them", "them us them"}
			}
			for _, order := range orders {
				t.Run(order, func(t *testing.T) {
					t.Parallel()
					path := pathFor(t)
					var line []contender
					for who := range strings.FieldsSeq(order) {
						if who == "us" {
							line = append(line, p.us(t, address, path))
						} else {
							line = append(line, p.them(t, address, path))
						}
					}
					givesUp(t, s, path, line[0], line[1], line[2])
				})
			}
		})
	})
}

// A holder whose process ends without a word is followed by the next.
func TestLockHolderDies(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	onBoth(t, func(t *testing.T, address string) {
		s := open(t, address)
		each(t, exclusive, func(t *testing.T, p pairing) {
			path := pathFor(t)
			dies(t, s, path, p.us(t, address, path), p.them(t, address, path))
			dies(t, s, path, p.them(t, address, path), p.us(t, address, path))
		})
	})
}

// A holder of ours that is cut off knows that it has lost before theirs is granted.
func TestLockLossIsKnownBeforeTheyAreGranted(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	onBoth(t, func(t *testing.T, address string) {
		s := open(t, address)
		each(t, exclusive, func(t *testing.T, p pairing) {
			path := pathFor(t)
			proxy := through(t, address)
			us := &ours{own: newOwn(t, "lock", alone, proxy.Addr(), session.WithTimeout(6*time.Second), session.WithTick(200*time.Millisecond))}
			var err error
			us.lock, err = lock.New(us.session, path, lock.WithLayout(p.layout))
			require.NoError(t, err)
			holds(t, us)
			next := p.them(t, address, path)
			waiting := begin(next)
			inLine(t, s, path, 2)
			proxy.Blackhole()
			require.NoError(t, (<-waiting).err)
			select {
			case <-us.grant.Done():
				require.ErrorIs(t, us.grant.Err(), session.ErrLost)
			default:
				t.Fatal("granted while ours believed that it holds")
			}
			require.NoError(t, next.release())
			proxy.Heal()
			holds(t, us) // it stands again when it is back
			require.NoError(t, us.release())
		})
	})
}

// Who does not understand Troupe's names sees nobody, and there are two holders: the table in the
// documentation says so, and guards are seen to notice.
func TestWhatCannotStandTogetherIsNoticed(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	onBoth(t, func(t *testing.T, address string) {
		s := open(t, address)
		each(t, map[string]struct {
			ours   newLock
			theirs maker
		}{
			"kazoo that was not told":                    {lock.New, maker{driver: kazooDriver, client: "kazoo", recipe: "lock"}},
			"curator's mutex and a shared lock":          {lock.NewWrite, maker{driver: javaDriver, client: "curator", recipe: "mutex"}},
			"curator's shared lock":                      {lock.NewWrite, maker{driver: javaDriver, client: "curator", recipe: "write"}},
			"curator's shared lock and an exclusive one": {lock.New, maker{driver: javaDriver, client: "curator", recipe: "write"}},
		}, func(t *testing.T, p struct {
			ours   newLock
			theirs maker
		},
		) {
			path := pathFor(t)
			g := newGuard(t, s, path+"-guard")
			for _, c := range []contender{ourLock(t, alone, p.ours, address, path), p.theirs.make(t, address, path)} {
				holds(t, c)
				require.NoError(t, g.enter(c))
			}
			require.Len(t, g.wrong, 2, "seen here and in ZooKeeper")
		})
	})
}
