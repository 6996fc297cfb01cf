package zkconn_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// A name stands for an address that works, one that refuses and one at which nobody answers. All of
// them are gone round, so that no time is needed but what it takes to find that out; and what
// failed is remembered.
func TestANameWithSeveralAddressesIsGoneRound(t *testing.T) {
	var log bytes.Buffer
	var mu sync.Mutex
	for range 10 {
		inOneBubble(t, func(b *bench) {
			time.Sleep(timeout/6 + time.Millisecond)
			up := last[zkconn.Up](b.sink)
			require.Equal(b, "zk:2181", up.Server)
			require.Equal(b, "10.0.0.3:2181", up.Address)
			for range 2 {
				time.Sleep(timeout)
				b.connected().hangUp()
				time.Sleep(timeout / 6)
				synctest.Wait()
			}
			// By now it has tried all of them, and goes back to the only good one at once.
			dials := b.dialled()
			require.Equal(b, "10.0.0.3:2181", dials[len(dials)-1].addr)
			require.Equal(b, timeout/6, time.Since(dials[len(dials)-1].at))

			b.connected()
			time.Sleep(time.Minute)
			before := len(b.dialled())
			b.script(func() {
				b.refuse = func(addr string) error {
					if addr == "10.0.0.3:2181" {
						return errRefused
					}
					return nil
				}
			})
			b.connected().hangUp()
			require.Contains(b, []string{"10.0.0.1:2181", "10.0.0.2:2181"}, b.connected().addr, "those that were bad are tried again in the end")
			require.LessOrEqual(b, len(b.dialled())-before, 2)
			mu.Lock()
			defer mu.Unlock()
			require.Contains(b, log.String(), `address=10.0.0.3:2181`)
		}, severalAddresses, func(_ *fake, cfg *zkconn.Config) {
			cfg.Logger = slog.New(slog.NewTextHandler(lockedWriter{&mu, &log}, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
	}
}

func severalAddresses(f *fake, cfg *zkconn.Config) {
	cfg.Servers = []string{"zk"}
	cfg.Lookup = func(_ context.Context, host string) ([]string, error) {
		if host != "zk" {
			return nil, errors.New("no such host")
		}
		return []string{"10.0.0.1", "10.0.0.2", "10.0.0.3"}, nil
	}
	f.refuse = func(addr string) error {
		switch addr {
		case "10.0.0.1:2181":
			return errRefused
		case "10.0.0.2:2181":
			return errSilent
		}
		return nil
	}
}

// A name that can't be looked up for a while stands for what it stood for before.
func TestANameThatIsNotFoundIsWhatItWas(t *testing.T) {
	var gone error
	var mu sync.Mutex
	inBubble(t, func(b *bench) {
		b.connected()
		mu.Lock()
		gone = errors.New("no such host")
		mu.Unlock()
		time.Sleep(time.Minute)
		b.connected().hangUp()
		synctest.Wait()
		require.Len(b, b.dialled(), 2)
		require.Equal(b, "10.0.0.3:2181", b.dialled()[1].addr)
	}, func(_ *fake, cfg *zkconn.Config) {
		cfg.Servers = []string{"zk"}
		cfg.Lookup = func(context.Context, string) ([]string, error) {
			mu.Lock()
			defer mu.Unlock()
			return []string{"10.0.0.3"}, gone
		}
	})
}

// A server takes connections and answers nothing. What was asked of it stays asked while the next
// is asked too, and whoever answers first has the session.
func TestASlowServerMayStillAnswerWhileTheNextIsAsked(t *testing.T) {
	inBubble(t, func(b *bench) {
		defer time.Sleep(timeout) // so that no server sleeps any more
		first := b.connected()
		time.Sleep(time.Minute)
		b.script(func() {
			b.welcome = func(q jute.ConnectRequest) (jute.ConnectResponse, bool) {
				time.Sleep(timeout/3 - time.Millisecond)
				return jute.ConnectResponse{Timeout: q.Timeout, SessionID: 7, Password: make([]byte, 16)}, true
			}
		})
		first.hangUp()
		time.Sleep(timeout/3 - time.Millisecond)
		synctest.Wait()
		dials := b.dialled()
		require.Len(b, dials, 3)
		require.Equal(b, timeout/6, dials[2].at.Sub(dials[1].at))
		require.Equal(b, dials[1].addr, last[zkconn.Up](b.sink).Server, "the one that was asked first")
	}, threeServers)
}
