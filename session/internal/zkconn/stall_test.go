// Servers that do not answer are left, if there are better ones.

package zkconn_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// silent lets the current server fall silent, and waits until the Conn has left it. It returns the
// server's address, and after what time it was left.
func (b *bench) silent() (addr string, left time.Duration) {
	b.Helper()
	v := b.connected()
	_, before := told[zkconn.Down](b.sink)
	resume := v.stopReading()
	time.AfterFunc(timeout, resume)
	begun := time.Now()
	for range 2 { // the first one is read, and answered
		go func() { _ = b.Sync("/") }()
		synctest.Wait()
	}
	time.Sleep(timeout + timeout/6)
	_, after := told[zkconn.Down](b.sink)
	require.Len(b, after, len(before)+1)
	return v.addr, after[len(before)].Sub(begun)
}

// returnsTo has the Conn find all servers bad, and go to this one.
func (b *bench) returnsTo(addr string) {
	b.Helper()
	for _, only := range []string{"none", addr} {
		b.script(func() {
			b.refuse = func(a string) error {
				if a != only {
					return errRefused
				}
				return nil
			}
		})
		b.connected().hangUp()
		time.Sleep(timeout / 2)
	}
	b.script(func() { b.refuse = nil })
	require.Equal(b, addr, b.connected().addr)
}

// A server that was left before is left again, while there is time, if there is one that is not
// known to be bad. If there is none, it is not.
func TestAServerThatWasLeftIsLeftAgain(t *testing.T) {
	inBubble(t, func(b *bench) {
		bad, left := b.silent()
		require.Equal(b, timeout/4, left)
		for range 3 { // so that it is tried last for long
			time.Sleep(30 * timeout)
			b.returnsTo(bad)
			_, left = b.silent()
			require.Equal(b, timeout*2/3, left, "the others are known to be bad")
		}

		b.returnsTo(bad)
		time.Sleep(7 * timeout) // the others are not known to be bad any more
		_, left = b.silent()
		require.Equal(b, timeout/4, left)
	}, threeServers, func(_ *fake, cfg *zkconn.Config) {
		cfg.Stake = func() (time.Duration, bool) { return timeout, true }
	})
}

// A server whose name can't be resolved is no reason to leave another one that is slow.
func TestASlowServerIsNotLeftForOneWithoutAnAddress(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.connected()
		b.answers(func(_ *visit, q jute.Request) (jute.Reply, bool) {
			if q.Op == jute.OpMulti {
				time.Sleep(timeout / 3)
			}
			return success(q), true
		})
		lost := 0
		for begun := time.Now(); time.Since(begun) < 20*timeout; time.Sleep(timeout / 6) {
			if b.Prove("/") != nil {
				lost++
			}
		}
		require.LessOrEqual(b, lost, 1)
		require.LessOrEqual(b, len(b.dialled()), 2)
	}, func(_ *fake, cfg *zkconn.Config) {
		cfg.Servers = []string{"good", "gone"}
		cfg.Lookup = func(_ context.Context, host string) ([]string, error) {
			if host != "good" {
				return nil, errRefused
			}
			return []string{"10.0.0.1"}, nil
		}
		cfg.Stake = func() (time.Duration, bool) { return 0, true }
	})
}

// While a name is being looked up, for long and for the first time, the others are tried: also one
// that has just failed.
func TestAServerThatFailedIsTriedWhileTheNameOfAnotherIsLookedUp(t *testing.T) {
	inBubble(t, func(b *bench) {
		time.Sleep(timeout * 3 / 4)
		b.connected()
	}, func(f *fake, cfg *zkconn.Config) {
		cfg.Servers = []string{"good", "hangs"}
		cfg.Lookup = func(ctx context.Context, host string) ([]string, error) {
			if host != "good" {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return []string{"10.0.0.1"}, nil
		}
		f.refuse = func(string) error {
			if len(f.dialled()) == 1 {
				return errRefused
			}
			return nil
		}
	})
}
