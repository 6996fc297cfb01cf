package interop_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

// Their locks that stand in one line with Troupe's, in Troupe's own layout.
var exclusive = map[string]maker{
	"curator":   {driver: javaDriver, client: "curator", recipe: "mutex"},
	"kazoo":     {driver: kazooDriver, client: "kazoo", recipe: "lock-beside"},
	"writelock": {driver: javaDriver, client: "zookeeper", recipe: "writelock"},
}

// Two of ours and two of theirs, for a while; some give up waiting.
func TestLocksTogether(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, address string) {
		s := open(t, address)
		each(t, exclusive, func(t *testing.T, theirs maker) {
			path := pathFor(t)
			contend(t, s, path, 15,
				ourLock(t, alone, lock.New, address, path),
				theirs.make(t, address, path),
				ourLock(t, alone, lock.New, address, path),
				theirs.make(t, address, path))
		})
	})
}

// The same while everybody's connections break again and again. Not with WriteLock, which in a retry looks for its znode under the wrong name.
func TestLocksTogetherWhileConnectionsBreak(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, address string) {
		s := open(t, address)
		for _, name := range []string{"curator", "kazoo"} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				path, theirs, proxy := pathFor(t), exclusive[name], through(t, address)
				g := newGuard(t, s, path+"-guard")
				g.disturb = func(nth int) {
					if nth%5 == 0 {
						proxy.Reset() // while somebody holds, and others wait
					}
				}
				g.contend(t, s, path, 8,
					ourLock(t, alone, lock.New, proxy.Addr(), path),
					theirs.make(t, proxy.Addr(), path),
					ourLock(t, alone, lock.New, proxy.Addr(), path),
					theirs.make(t, proxy.Addr(), path))
			})
		}
	})
}

// Who comes first is first, whoever it is.
func TestLocksGoByArrival(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, address string) {
		s := open(t, address)
		each(t, exclusive, func(t *testing.T, theirs maker) {
			path := pathFor(t)
			arrivals(t, s, path,
				theirs.make(t, address, path),
				ourLock(t, alone, lock.New, address, path),
				ourLock(t, alone, lock.New, address, path),
				theirs.make(t, address, path),
				theirs.make(t, address, path),
				ourLock(t, alone, lock.New, address, path))
		})
	})
}

// A waiter that gives up leaves the others where they were: behind the holder.
func TestLockWaiterGivesUp(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, address string) {
		s := open(t, address)
		each(t, exclusive, func(t *testing.T, theirs maker) {
			for _, order := range []string{"us them us", "them them us", "them us them", "us us them"} {
				t.Run(order, func(t *testing.T) {
					t.Parallel()
					path := pathFor(t)
					var line []contender
					for who := range strings.FieldsSeq(order) {
						if who == "us" {
							line = append(line, ourLock(t, alone, lock.New, address, path))
						} else {
							line = append(line, theirs.make(t, address, path))
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
	t.Parallel()
	onBoth(t, func(t *testing.T, address string) {
		s := open(t, address)
		each(t, exclusive, func(t *testing.T, theirs maker) {
			path := pathFor(t)
			us := func() contender { return ourLock(t, alone, lock.New, address, path) }
			them := func() contender { return theirs.make(t, address, path) }
			dies(t, s, path, us(), them())
			dies(t, s, path, them(), us())
		})
	})
}

// A holder of ours that is cut off knows that it has lost before theirs is granted.
func TestLockLossIsKnownBeforeTheyAreGranted(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, address string) {
		s := open(t, address)
		each(t, exclusive, func(t *testing.T, theirs maker) {
			path := pathFor(t)
			proxy := through(t, address)
			us := &ours{own: newOwn(t, "lock", alone, proxy.Addr(), session.WithTimeout(3*time.Second), session.WithTick(200*time.Millisecond))}
			var err error
			us.lock, err = lock.New(us.session, path)
			require.NoError(t, err)
			holds(t, us)
			next := theirs.make(t, address, path)
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

// kazoo's lock must be told which names to respect. If it is not, there are two holders: the table in the documentation says so, and guards are seen
// to notice.
func TestKazooUntoldIsNoticed(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, address string) {
		s, path := open(t, address), pathFor(t)
		g := newGuard(t, s, path+"-guard")
		us := ourLock(t, alone, lock.New, address, path)
		them := maker{driver: kazooDriver, client: "kazoo", recipe: "lock"}.make(t, address, path)
		for _, c := range []contender{us, them} {
			holds(t, c)
			require.NoError(t, g.enter(c))
		}
		require.Len(t, g.wrong, 2, "seen here and in ZooKeeper")
	})
}
