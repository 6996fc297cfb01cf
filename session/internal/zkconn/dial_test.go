package zkconn_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

func threeServers(_ *fake, cfg *zkconn.Config) { cfg.Servers = []string{"a:1", "b", "[::1]"} }

var errRefused = errors.New("refused")

func TestServersAreTriedInTurnWithPausesBetweenRoundsOnly(t *testing.T) {
	inBubble(t, func(b *bench) {
		time.Sleep(5 * time.Second)
		dials := b.dialled()
		var first []string
		for i, d := range dials {
			if i < 3 {
				first = append(first, d.addr)
			}
			require.Equal(b, first[i%3], d.addr)
			if i%3 != 0 {
				require.Equal(b, dials[i-1].at, d.at, "no pause within a round")
			}
		}
		require.ElementsMatch(b, []string{"a:1", "b:2181", "[::1]:2181"}, first)

		longest := 20 * time.Millisecond
		for i := 3; i < len(dials); i += 3 {
			pause := dials[i].at.Sub(dials[i-1].at)
			require.LessOrEqual(b, pause, longest)
			require.GreaterOrEqual(b, pause, longest/2)
			longest = min(2*longest, time.Second)
		}
		require.Equal(b, time.Second, longest)
	}, threeServers, func(f *fake, _ *zkconn.Config) {
		f.refuse = func(string) error { return errRefused }
	})
}

// A stopped server must not eat the session: dialling and the connect reply together get a sixth of
// its timeout, then the next server has its turn.
func TestHandshakeIsCutOff(t *testing.T) {
	t.Parallel()
	stuck := map[string]func(b *bench){
		"dialling": func(b *bench) {
			b.script(func() { b.refuse = func(string) error { return errSilent } })
		},
		"connect reply": func(b *bench) {
			b.script(func() {
				b.welcome = func(jute.ConnectRequest) (jute.ConnectResponse, bool) { return jute.ConnectResponse{}, false }
			})
		},
	}
	for name, trouble := range stuck {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				v := b.connected()
				time.Sleep(time.Minute)
				trouble(b)
				v.hangUp()
				time.Sleep(3*time.Second - 1)
				dials := b.dialled()[1:]
				require.Len(b, dials, 3)
				require.Equal(b, timeout/6, dials[1].at.Sub(dials[0].at))
				require.Equal(b, timeout/6, dials[2].at.Sub(dials[1].at))
			}, threeServers)
		})
	}
}

// With no session to lose, a server that takes long to make one is given more time in each round.
func TestFirstHandshakeGrowsPatient(t *testing.T) {
	inBubble(t, func(b *bench) {
		time.Sleep(time.Minute)
		b.connected()
	}, func(f *fake, _ *zkconn.Config) {
		f.welcome = func(q jute.ConnectRequest) (jute.ConnectResponse, bool) {
			time.Sleep(3500 * time.Millisecond)
			return jute.ConnectResponse{Timeout: q.Timeout, SessionID: 7, Password: make([]byte, 16)}, true
		}
	})
}

// B06: a connection that fell silent, without a reset, is given up after two thirds of the timeout,
// and the next server asked at once.
func TestB06_SilentConnectionIsGivenUp(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		stop := v.stop()
		defer stop()
		silentSince := time.Now()
		time.Sleep(timeout)
		_, downs := told[zkconn.Down](b.sink)
		_, ups := told[zkconn.Up](b.sink)
		require.Equal(b, []time.Time{silentSince.Add(timeout * 2 / 3)}, downs)
		require.Equal(b, downs[0], ups[1])
	}, threeServers)
}

func TestServerThatAcceptsAndDropsIsNotHammered(t *testing.T) {
	inBubble(t, func(b *bench) {
		time.Sleep(10 * time.Second)
		require.Less(b, len(b.dialled()), 30)
	}, func(f *fake, _ *zkconn.Config) {
		f.welcome = func(q jute.ConnectRequest) (jute.ConnectResponse, bool) {
			f.mu.Lock()
			v := f.visits[len(f.visits)-1]
			f.mu.Unlock()
			go func() {
				synctest.Wait()
				v.hangUp()
			}()
			return jute.ConnectResponse{Timeout: q.Timeout, SessionID: 7, Password: make([]byte, 16)}, true
		}
	})
}

// A server that accepts sessions and loses them at once does not keep the session from the others,
// also if those have failed not long ago.
func TestAServerThatAcceptsAndDropsLeavesTheOthersTheirTurn(t *testing.T) {
	var others atomic.Bool
	inBubble(t, func(b *bench) {
		time.Sleep(time.Second)
		others.Store(true)
		time.Sleep(3 * time.Second)
		require.NotEqual(b, "a:1", b.connected().addr)
	}, threeServers, func(f *fake, _ *zkconn.Config) {
		f.refuse = func(addr string) error {
			if addr == "a:1" || others.Load() {
				return nil
			}
			return errRefused
		}
		f.welcome = func(q jute.ConnectRequest) (jute.ConnectResponse, bool) {
			f.mu.Lock()
			v := f.visits[len(f.visits)-1]
			f.mu.Unlock()
			if v.addr == "a:1" {
				go func() {
					synctest.Wait()
					v.hangUp()
				}()
			}
			return jute.ConnectResponse{Timeout: q.Timeout, SessionID: 7, Password: make([]byte, 16)}, true
		}
	})
}

func TestReasonOfAMissingConnectionIsLoggedOnceEachTime(t *testing.T) {
	var log bytes.Buffer
	var mu sync.Mutex
	warnings := func() int {
		mu.Lock()
		defer mu.Unlock()
		return strings.Count(log.String(), "refused")
	}
	inBubble(t, func(b *bench) {
		time.Sleep(time.Minute)
		require.Equal(b, 1, warnings())
		b.script(func() { b.refuse = nil })
		time.Sleep(time.Minute)
		v := b.connected()
		b.script(func() { b.refuse = func(string) error { return errRefused } })
		v.hangUp()
		time.Sleep(time.Minute)
		require.Equal(b, 2, warnings())
	}, func(f *fake, cfg *zkconn.Config) {
		cfg.Logger = slog.New(slog.NewTextHandler(lockedWriter{&mu, &log}, nil))
		f.refuse = func(string) error { return errRefused }
	})
}

// A request at which the server hangs up, asked again and again, is no storm either; other than
// that, a flap costs next to nothing.
func TestFlapsOfAUsefulConnectionCostLittle(t *testing.T) {
	inBubble(t, func(b *bench) {
		for range 100 {
			v := b.connected()
			require.NoError(b, b.Sync("/"))
			v.hangUp()
			time.Sleep(21 * time.Millisecond)
		}
		require.Len(b, b.dialled(), 101)
	})
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]zkconn.Config{
		"no servers":       {Timeout: time.Second},
		"no timeout":       {Servers: []string{"a"}},
		"timeout too long": {Servers: []string{"a"}, Timeout: 1000 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := zkconn.Open(cfg, func(zkconn.Event) {})
			require.Error(t, err)
		})
	}
}

func TestDialTriesEveryAddressOfAName(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	for range 10 { // in random order: one of the addresses of localhost may refuse
		conn, err := zkconn.Dial(within(t, 10*time.Second), "tcp", net.JoinHostPort("localhost", port))
		require.NoError(t, err)
		require.NoError(t, conn.Close())
	}
	_, err = zkconn.Dial(within(t, 10*time.Second), "tcp", "no port")
	require.Error(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = zkconn.Dial(ctx, "tcp", l.Addr().String())
	require.Error(t, err)
}
