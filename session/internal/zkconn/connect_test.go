// Which servers and addresses are dialled, in which order, with which patience. Helpers:
// helper_test.go; B numbers: decision 6.

package zkconn_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

func TestRequestIsOnlyTakenWhileThereIsASession(t *testing.T) {
	inBubble(t, func(b *bench) {
		require.ErrorIs(b, errOf(b.Create("/a", nil, jute.FlagPersistent, 0, nil)), zkconn.ErrNotSent)
		time.Sleep(10 * time.Second)
		require.ErrorIs(b, errOf(b.Create("/a", nil, jute.FlagPersistent, 0, nil)), zkconn.ErrNotSent)
		require.Zero(b, b.SessionID())

		b.script(func() { b.refuse = nil })
		time.Sleep(timeout + timeout/2) // the rest of a dial that hangs, or until there is one beside it
		v := b.connected()
		require.Empty(b, v.ops(), "what was refused came back")
		require.NoError(b, errOf(b.Create("/a", nil, jute.FlagPersistent, 0, nil)))
	}, func(f *fake, _ *zkconn.Config) {
		f.refuse = func(string) error { return errSilent }
	})
}

func TestServersAreTriedInTurnWithPausesBetweenRoundsOnly(t *testing.T) {
	inBubble(t, func(b *bench) {
		time.Sleep(5 * time.Second)
		dials := b.dialled()
		for round := range slices.Chunk(dials[:len(dials)/3*3], 3) {
			require.ElementsMatch(b, []string{"a:1", "b:2181", "[::1]:2181"}, []string{round[0].addr, round[1].addr, round[2].addr})
			require.Equal(b, round[0].at, round[2].at, "no pause within a round")
		}

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
func TestAHandshakeIsCutOffAfterASixthOfTheTimeout(t *testing.T) {
	each(t, map[string]func(b *bench){
		"dialling": func(b *bench) {
			b.script(func() { b.refuse = func(string) error { return errSilent } })
		},
		"connect reply": func(b *bench) {
			b.script(func() {
				b.welcome = func(jute.ConnectRequest) (jute.ConnectResponse, bool) { return jute.ConnectResponse{}, false }
			})
		},
	}, func(b *bench, trouble func(b *bench)) {
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
}

// With no session to lose, a server that takes long to make one is given more time in each round.
func TestTheFirstHandshakeGrowsPatient(t *testing.T) {
	inBubble(t, func(b *bench) {
		time.Sleep(time.Minute)
		b.connected()
	}, func(f *fake, _ *zkconn.Config) {
		f.welcome = welcomesAfter(3500 * time.Millisecond)
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
	}, func(f *fake, _ *zkconn.Config) { f.drops("") })
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
		f.drops("a:1")
	})
}

// Why there is no connection is logged at once, and then every thirty seconds.
func TestReasonOfAMissingConnectionIsLoggedEachTime(t *testing.T) {
	var log bubble.Log
	warnings := func() [2]int {
		return [2]int{log.Count("msg=\"no connection to ZooKeeper\""), log.Count("msg=\"still no connection to ZooKeeper\"")}
	}
	inBubble(t, func(b *bench) {
		time.Sleep(75 * time.Second)
		require.Equal(b, [2]int{1, 2}, warnings())
		b.script(func() { b.refuse = nil })
		time.Sleep(time.Minute)
		v := b.connected()
		b.script(func() { b.refuse = func(string) error { return errRefused } })
		v.hangUp()
		time.Sleep(75 * time.Second)
		require.Equal(b, [2]int{2, 4}, warnings())
	}, func(f *fake, cfg *zkconn.Config) {
		cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
		f.refuse = func(string) error { return errRefused }
	})
}

// A request at which the server hangs up, asked again and again, is no storm either: from the third
// flap in a row on pauses grow, to a sixth of a second. Other than that, a flap costs next to
// nothing.
func TestFlapsOfAUsefulConnectionCostLittle(t *testing.T) {
	inBubble(t, func(b *bench) {
		for n := range 100 {
			v := b.connected()
			require.NoError(b, b.Sync("/"))
			v.hangUp()
			time.Sleep(time.Millisecond + 20*time.Millisecond<<min(max(n-2, 0), 3))
		}
		require.Len(b, b.dialled(), 101)
	})
}

// A name stands for an address that works, one that refuses and one that does not answer. All of
// them are tried in turn, which takes no longer than to find that out; and a failure is remembered.
func TestANameWithSeveralAddressesIsGoneRound(t *testing.T) {
	var log bubble.Log
	for range 10 {
		inOneBubble(t, func(b *bench) {
			time.Sleep(timeout/6 + time.Millisecond)
			up := last[zkconn.Up](b.sink)
			require.Equal(b, "zk:2181", up.Server)
			require.Equal(b, "10.0.0.3:2181", up.Address)
			tried := func(addr string) bool {
				return slices.ContainsFunc(b.dialled(), func(d dialled) bool { return d.addr == addr && time.Since(d.at) < 4*timeout })
			}
			for all := false; !all; {
				time.Sleep(timeout / 2)
				all = tried("10.0.0.1:2181") && tried("10.0.0.2:2181")
				b.connected().hangUp()
				synctest.Wait()
			}
			// Now that it has tried all of them, it goes back at once to the only one that is good.
			dials := b.dialled()
			require.Equal(b, "10.0.0.3:2181", dials[len(dials)-1].addr)
			require.Equal(b, time.Now(), dials[len(dials)-1].at)

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
			require.NotZero(b, log.Count("address=10.0.0.3:2181"))
		}, severalAddresses, func(_ *fake, cfg *zkconn.Config) {
			cfg.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
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

// A server takes connections and answers nothing. The request to it stays under way while the next
// server is asked too, and the one that answers first has the session.
func TestASlowServerMayStillAnswerWhileTheNextIsAsked(t *testing.T) {
	inBubble(t, func(b *bench) {
		defer time.Sleep(timeout) // so that no server sleeps any more
		first := b.connected()
		time.Sleep(time.Minute)
		b.script(func() {
			b.welcome = welcomesAfter(timeout/3 - time.Millisecond)
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

// A server that took long for the connect request is given more time for the next step, but not
// more than the session may last.
func TestAStepOfConnectingTakesNoLongerThanTheSession(t *testing.T) {
	inBubble(t, func(b *bench) {
		defer func() { // so that no server sleeps any more
			b.script(func() { b.refuse = func(string) error { return errRefused } })
			time.Sleep(time.Hour)
		}()
		synctest.Wait()
		b.script(func() { b.refuse = func(string) error { return errRefused } }) // what is tried beside it
		time.Sleep(time.Minute + timeout + timeout/6)
		require.ErrorIs(b, b.visit(0).conn.SetDeadline(time.Time{}), io.ErrClosedPipe)
	}, func(f *fake, cfg *zkconn.Config) {
		cfg.Slow = true
		cfg.Auth = []zkconn.Credential{{Scheme: "digest", Secret: []byte("a:b")}}
		f.welcome = welcomesAfter(time.Minute)
		f.answer = answersNothing
	})
}

// Connections to a server that does not answer may be dead without a word: when it works again, it
// is found soon. Meanwhile there are never more than two attempts at an address.
func TestTheWayBackAfterASilenceIsShort(t *testing.T) {
	for _, servers := range []int{1, 3} {
		t.Run(fmt.Sprint(servers), func(t *testing.T) { wayBack(t, servers) })
	}
}

func wayBack(t *testing.T, servers int) {
	inBubble(t, func(b *bench) {
		dead := make(chan struct{})
		defer synctest.Wait()
		defer close(dead)
		v := b.connected()
		time.Sleep(time.Minute)
		for times := range 20 {
			b.script(func() {
				b.welcome = func(jute.ConnectRequest) (jute.ConnectResponse, bool) { <-dead; return jute.ConnectResponse{}, false }
			})
			before := len(b.dialled())
			v.hangUp()
			silence := 3 * time.Minute
			time.Sleep(silence)
			require.LessOrEqual(b, len(b.dialled())-before, servers*(2+int(silence/timeout)))
			b.script(func() { b.welcome = nil })
			time.Sleep(timeout + timeout/2 + timeout/6)
			v = b.connected()
			ups, _ := told[zkconn.Up](b.sink)
			require.Len(b, ups, times+2)
		}
	}, func(_ *fake, cfg *zkconn.Config) { cfg.Servers = []string{"a:1", "b", "[::1]"}[:servers] })
}

// A name may stand for others from one moment to the next, as when all pods behind it are replaced:
// it is looked up again before the next attempt.
func TestANameIsLookedUpBeforeEachAttempt(t *testing.T) {
	var mu sync.Mutex
	old := []string{"10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6"}
	now := old
	inBubble(t, func(b *bench) {
		v := b.connected()
		time.Sleep(time.Minute)
		b.script(func() {
			b.refuse = func(addr string) error {
				mu.Lock()
				defer mu.Unlock()
				if addr != "10.0.0.7:2181" {
					now = []string{"10.0.0.7"}
					return errSilent
				}
				return nil
			}
		})
		lost := time.Now()
		v.hangUp()
		time.Sleep(timeout)
		require.Equal(b, "10.0.0.7:2181", b.connected().addr)
		require.Equal(b, timeout/6, last[zkconn.Up](b.sink).Asked.Sub(lost))
	}, func(_ *fake, cfg *zkconn.Config) {
		cfg.Servers = []string{"zk"}
		cfg.Lookup = func(context.Context, string) ([]string, error) {
			mu.Lock()
			defer mu.Unlock()
			return now, nil
		}
	})
}

// A resolver whose first nameserver is down answers after seconds. That is no reason to have no
// session at all.
func TestALookupMayTakeLongerThanAnAttempt(t *testing.T) {
	inBubble(t, func(b *bench) {
		time.Sleep(timeout)
		require.Equal(b, "10.0.0.1:2181", b.connected().addr)
	}, func(_ *fake, cfg *zkconn.Config) {
		cfg.Servers = []string{"zk"}
		cfg.Lookup = func(ctx context.Context, _ string) ([]string, error) {
			select {
			case <-time.After(timeout / 2):
				return []string{"10.0.0.1"}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	})
}

// Of two attempts at one address the first answer wins. That the other one is given up then says
// nothing against the server: it is the first that is tried when the connection is lost.
func TestTheAttemptBesideTheOneThatWonIsNoFailure(t *testing.T) {
	inBubble(t, func(b *bench) {
		over := make(chan struct{})
		defer synctest.Wait()
		defer close(over)
		b.connected()
		for range 10 {
			time.Sleep(10 * timeout)
			v := b.connected()
			var asked atomic.Int32
			b.script(func() {
				b.refuse = func(addr string) error {
					if addr != v.addr {
						return errRefused
					}
					return nil
				}
				b.welcome = func(q jute.ConnectRequest) (jute.ConnectResponse, bool) {
					if asked.Add(1) > 2 { // the first one is given up; then its patience is long
						return welcomesAfter(timeout / 2)(q)
					}
					<-over
					return agrees(q), true
				}
			})
			v.hangUp()
			time.Sleep(4 * timeout)
			require.NoError(b, b.Sync("/"))
			before := len(b.dialled())
			b.script(func() { b.welcome = nil })
			b.connected().hangUp()
			synctest.Wait()
			require.Equal(b, v.addr, b.dialled()[before].addr)
			b.script(func() { b.refuse = nil })
		}
	}, threeServers)
}

// When one attempt has the session, a late one does not take it away again: it finds out before it
// asks.
func TestALateAttemptDoesNotAskForASessionThatThereIs(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		for range 10 {
			late, asked := make(chan struct{}), make(chan struct{})
			b.script(func() {
				b.refuse = func(addr string) error {
					if addr != v.addr {
						<-asked
						return nil
					}
					close(asked)
					<-late
					return nil
				}
			})
			v.hangUp()
			time.Sleep(timeout/6 + timeout/12) // the dialer still has the time to return
			b.script(func() { b.refuse = nil })
			before := len(b.visits)
			v = b.visit(before - 1)
			require.NoError(b, b.Sync("/"), "there is a connection to another server")
			close(late)
			synctest.Wait()
			require.Len(b, b.visits, before+1)
			require.Zero(b, b.visit(before).hello, "it asked")
			require.NoError(b, b.Sync("/"))
		}
	}, func(_ *fake, cfg *zkconn.Config) { cfg.Servers = []string{"a:1", "b"} })
}
