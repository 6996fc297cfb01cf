// Ends: Close and Abandon, what a server says of a session that is over, and credentials.

package zkconn_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

func TestCloseSaysSoToTheServerAndIsNoEvent(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		begun := time.Now()
		require.NoError(b, b.Close(within(b, time.Second)))
		require.Zero(b, time.Since(begun))
		require.Equal(b, []jute.Op{jute.OpCloseSession}, v.ops())
		require.Len(b, b.sink.all(), 1, "closing is no event")
		require.NoError(b, b.Close(within(b, time.Second)), "again")
		b.Abandon()
		_, err := b.Set("/a", nil, -1)
		require.ErrorIs(b, err, zkconn.ErrEnded)
	})
}

func TestCloseLetsFinishWhatIsUnderWay(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.connected()
		b.answers(func(v *visit, q jute.Request) (jute.Reply, bool) {
			if q.Op == jute.OpSetData {
				time.Sleep(time.Second / 2) // servers answer in order, so closeSession is answered after this
			}
			return success(q), true
		})
		set := bubble.Begin(func() error { _, err := b.Set("/a", nil, -1); return err })
		pending(b, set)
		closing := b.beginClose(time.Minute)
		synctest.Wait()
		_, err := b.Set("/a", nil, -1)
		require.ErrorIs(b, err, zkconn.ErrEnded)
		pending(b, closing)
		time.Sleep(time.Second / 2)
		require.NoError(b, got(b, set))
		require.NoError(b, got(b, closing))
	})
}

func TestCloseWhileDownReconnectsForIt(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		time.Sleep(time.Minute)
		b.script(func() { b.refuse = func(string) error { return errors.New("refused") } })
		v.hangUp()
		closing := b.beginClose(time.Minute)
		pending(b, closing)
		time.Sleep(30 * time.Second)
		pending(b, closing)
		b.script(func() { b.refuse = nil })
		time.Sleep(time.Second)
		require.NoError(b, got(b, closing))
		require.Equal(b, []jute.Op{jute.OpCloseSession}, b.visit(1).ops())
		ups, _ := told[zkconn.Up](b.sink)
		require.Len(b, ups, 1, "that connection is for closing alone")
	})
}

func TestCloseIsSatisfiedIfTheSessionIsGone(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		time.Sleep(time.Minute)
		b.afterwards(jute.ConnectResponse{Password: make([]byte, 16)})
		b.script(func() { b.refuse = func(string) error { return errors.New("refused") } })
		v.hangUp()
		closing := b.beginClose(time.Minute)
		pending(b, closing)
		b.script(func() { b.refuse = nil })
		time.Sleep(time.Second)
		require.NoError(b, got(b, closing))
		ends, _ := told[zkconn.Ended](b.sink)
		require.Empty(b, ends, "nobody is told any more")
	})
}

// The context bounds Close in whatever state the connection is: it returns at that very instant,
// and nothing is left.
func TestCloseNeverTakesLongerThanItsContext(t *testing.T) {
	t.Parallel()
	silent := func(b *bench) {
		b.script(func() {
			b.answer = answersNothing
			b.welcome = func(jute.ConnectRequest) (jute.ConnectResponse, bool) { return jute.ConnectResponse{}, false }
		})
	}
	deaf := func(b *bench) {
		b.fake.mu.Lock()
		b.fake.answer = func(v *visit, q jute.Request) (jute.Reply, bool) {
			<-b.Context().Done() // reads no more either, so that writes block
			return jute.Reply{}, false
		}
		b.fake.mu.Unlock()
		go func() { _ = b.Sync("/") }() // ends with the connection
		synctest.Wait()
	}
	cases := map[string]func(b *bench){
		"answers nothing": silent,
		"reads nothing":   deaf,
		"refuses": func(b *bench) {
			b.script(func() { b.refuse = func(string) error { return errors.New("refused") } })
			b.visit(0).hangUp()
		},
		"dials hang": func(b *bench) {
			b.script(func() { b.refuse = func(string) error { return errSilent } })
			b.visit(0).hangUp()
		},
		"handshakes hang": func(b *bench) {
			silent(b)
			b.visit(0).hangUp()
		},
	}
	for name, trouble := range cases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				b.connected()
				time.Sleep(time.Minute)
				trouble(b)
				begun := time.Now()
				ctx, cancel := context.WithTimeout(b.Context(), 5*time.Second)
				defer cancel()
				require.ErrorIs(b, b.Close(ctx), context.DeadlineExceeded)
				require.Equal(b, 5*time.Second, time.Since(begun))
			})
		})
	}
}

func TestALostCloseSessionIsRepeatedElsewhere(t *testing.T) {
	inBubble(t, func(b *bench) {
		stuck := b.connected()
		b.answers(func(v *visit, q jute.Request) (jute.Reply, bool) { return success(q), v != stuck })
		begun := time.Now()
		require.NoError(b, b.Close(within(b, time.Minute)))
		require.InDelta(b, timeout/6, time.Since(begun), float64(20*time.Millisecond), "the patience of a handshake, and a pause")
		require.Len(b, b.visits, 2)
	})
}

func TestCloseClosesASessionThatIsJustBeingMade(t *testing.T) {
	inBubble(t, func(b *bench) {
		synctest.Wait()
		closing := b.beginClose(time.Minute)
		pending(b, closing)
		time.Sleep(time.Second / 2)
		require.NoError(b, got(b, closing))
		require.Equal(b, []jute.Op{jute.OpCloseSession}, b.visit(0).ops())
		require.Empty(b, b.sink.all())
	}, func(f *fake, _ *zkconn.Config) {
		f.welcome = welcomesAfter(time.Second / 2)
	})
}

func TestAbandonLeavesTheSession(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		b.answers(answersNothing)
		get := bubble.Begin(func() error { _, _, err := b.Get("/a", false); return err })
		pending(b, get)
		begun := time.Now()
		b.Abandon()
		require.Zero(b, time.Since(begun))
		require.ErrorIs(b, got(b, get), zkconn.ErrNoReply)
		require.Equal(b, []jute.Op{jute.OpGetData}, v.ops())
		require.Len(b, b.sink.all(), 1)
		require.Error(b, b.Close(within(b, time.Second)), "the session may live on")
	})
}

func TestCloseFreesThoseWhoWaitForTheirTurn(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		resume := v.stopReading()
		require.NoError(b, b.Sync("/"))
		first := bubble.Begin(func() error { return b.Sync("/") }) // its frame is stuck
		pending(b, first)
		second := bubble.Begin(func() error { return b.Sync("/") })
		pending(b, second)
		closing := b.beginClose(time.Second)
		require.ErrorIs(b, got(b, second), zkconn.ErrEnded)
		pending(b, first)
		resume()
		require.NoError(b, got(b, closing))
		require.NoError(b, got(b, first))
	})
}

// secured is like the connections of crypto/tls: its own Close sends close_notify, which may
// block.
type secured struct{ net.Conn }

func (s secured) NetConn() net.Conn { return s.Conn }

func (s secured) Close() error {
	_, err := s.Write([]byte{0})
	return err
}

func TestHangingUpIsNotBlockedByCloseNotify(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		defer v.stopReading()()
		require.NoError(b, b.Sync("/"))
		begun := time.Now()
		b.Abandon()
		require.Zero(b, time.Since(begun))
	}, func(f *fake, cfg *zkconn.Config) {
		cfg.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := f.dial(ctx, network, addr)
			return secured{conn}, err
		}
	})
}

// H4: what was asked in the old session must not run in the next one, whatever the server does.
func TestNothingIsAskedInAReplacedSession(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		time.Sleep(time.Minute)
		b.afterwards(jute.ConnectResponse{Timeout: 6000, SessionID: 8, Password: make([]byte, 16)})
		b.answers(func(_ *visit, q jute.Request) (jute.Reply, bool) { return success(q), q.Op == jute.OpCloseSession })
		set := bubble.Begin(func() error { _, err := b.Set("/a", nil, -1); return err })
		pending(b, set)
		v.hangUp()
		require.ErrorIs(b, got(b, set), zkconn.ErrNoReply)
		require.Equal(b, zkconn.Ended{Cause: zkconn.ErrReplaced}, last[zkconn.Ended](b.sink))
		require.Equal(b, []jute.Op{jute.OpCloseSession}, b.visit(1).ops(), "the stray session is closed, and nothing else asked in it")
		require.EqualValues(b, 7, b.SessionID())
		time.Sleep(time.Hour)
		require.Len(b, b.dialled(), 2)
	})
}

func TestCredentialsComeFirstOnEveryConnection(t *testing.T) {
	var log bytes.Buffer
	var mu sync.Mutex
	inBubble(t, func(b *bench) {
		v := b.connected()
		require.Equal(b, []jute.Op{jute.OpSetAuth, jute.OpSetAuth}, v.ops())
		require.Equal(b, "digest", v.asked()[0].Scheme)
		require.Equal(b, []byte("me:hunter2"), v.asked()[0].Data)
		_, _, err := b.Get("/a", true)
		require.NoError(b, err)
		time.Sleep(time.Minute)
		v.hangUp()
		synctest.Wait()
		require.Equal(b, []jute.Op{jute.OpSetAuth, jute.OpSetAuth, jute.OpSetWatches}, b.visit(1).ops())
		b.Abandon()
		mu.Lock()
		defer mu.Unlock()
		require.NotContains(b, log.String(), "hunter2")
		require.Contains(b, log.String(), "connected")
	}, func(_ *fake, cfg *zkconn.Config) {
		cfg.Auth = []zkconn.Credential{{Scheme: "digest", Secret: []byte("me:hunter2")}, {Scheme: "digest", Secret: []byte("us:hunter2")}}
		cfg.Logger = slog.New(slog.NewTextHandler(lockedWriter{&mu, &log}, &slog.HandlerOptions{Level: slog.LevelDebug}))
		require.NotContains(t, cfg.Auth[0].String()+cfg.Auth[0].GoString(), "hunter2")
	})
}

// There is no Up before the credentials are accepted. The session of a refused one is closed over
// the next connection, and nothing else is asked in it.
func TestTheSessionOfARefusedCredentialIsClosed(t *testing.T) {
	inBubble(t, func(b *bench) {
		time.Sleep(time.Second)
		require.Equal(b, []jute.Op{jute.OpSetAuth}, b.visit(0).ops())
		require.Equal(b, []jute.Op{jute.OpCloseSession}, b.visit(1).ops())
		require.EqualValues(b, 7, b.visit(1).hello.SessionID)
		_, _, err := b.Get("/a", false)
		require.ErrorIs(b, err, zkconn.ErrEnded)
		time.Sleep(time.Hour)
		require.Len(b, b.dialled(), 2, "that was it")
		require.NoError(b, b.Close(within(b, time.Second)), "it is confirmed")
		require.Equal(b, []zkconn.Event{zkconn.Ended{Cause: zkconn.ErrAuthFailed}}, b.sink.all())
	}, func(f *fake, cfg *zkconn.Config) {
		cfg.Auth = []zkconn.Credential{{Scheme: "digest", Secret: []byte("me:wrong")}}
		f.answer = func(v *visit, q jute.Request) (jute.Reply, bool) {
			if q.Op == jute.OpSetAuth {
				v.reply(q, failure(jute.AuthFailed))
				v.hangUp()
				return jute.Reply{}, false
			}
			return success(q), true
		}
	})
}

// B70: however often the server changes its mind, there is one end, and nothing after it.
func TestB70_ExpiryIsFinal(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.connected()
		time.Sleep(time.Minute)
		b.afterwards(jute.ConnectResponse{Password: make([]byte, 16)}) // what a server says of an expired session
		get := bubble.Begin(func() error { _, _, err := b.Get("/a", false); return err })
		synctest.Wait()
		b.visit(0).hangUp()
		synctest.Wait()
		b.script(func() { b.welcome = nil })
		events := b.sink.all()
		require.Equal(b, zkconn.Ended{Cause: zkconn.ErrExpired}, events[len(events)-1])
		require.NoError(b, got(b, get))
		_, _, err := b.Get("/a", false)
		require.ErrorIs(b, err, zkconn.ErrEnded)

		time.Sleep(time.Hour)
		require.Len(b, b.dialled(), 2, "it dialled on after the end")
		begun := time.Now()
		require.NoError(b, b.Close(within(b, time.Second)))
		require.Zero(b, time.Since(begun))
		require.Len(b, b.sink.all(), len(events), "Ended is the last event")
		ups, _ := told[zkconn.Up](b.sink)
		require.Len(b, ups, 1)
	})
}
