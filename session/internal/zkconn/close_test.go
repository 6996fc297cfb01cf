// Ends: Close and Abandon, and what a server says of a session that is over. Helpers:
// helper_test.go; B numbers: decision 6.

package zkconn_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

func TestCloseLetsFinishWhatIsUnderWay(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.connected()
		b.answers(except(jute.OpSetData, answersAfter(time.Second/2))) // servers answer in order, so closeSession is answered after this
		set := bubble.Begin(func() error { _, err := b.Set("/a", nil, -1); return err })
		bubble.Never(b, set)
		closing := b.beginClose(time.Minute)
		synctest.Wait()
		require.ErrorIs(b, errOf(b.Set("/a", nil, -1)), zkconn.ErrEnded)
		bubble.Never(b, closing)
		time.Sleep(time.Second / 2)
		require.NoError(b, bubble.Now(b, set))
		require.NoError(b, bubble.Now(b, closing))
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
		bubble.Never(b, closing)
		b.script(func() { b.refuse = nil })
		time.Sleep(time.Second)
		require.NoError(b, bubble.Now(b, closing))
		ends, _ := told[zkconn.Ended](b.sink)
		require.Empty(b, ends, "the sink is told nothing any more")
	})
}

// The context bounds Close in any state of the connection: it returns at that very instant, and
// nothing is left.
func TestCloseNeverTakesLongerThanItsContext(t *testing.T) {
	silent := func(b *bench) {
		b.script(func() {
			b.answer = answersNothing
			b.welcome = func(jute.ConnectRequest) (jute.ConnectResponse, bool) { return jute.ConnectResponse{}, false }
		})
	}
	deaf := func(b *bench) {
		b.answers(func(*visit, jute.Request) (jute.Reply, bool) {
			<-b.Context().Done() // reads no more either, so that writes block
			return jute.Reply{}, false
		})
		go func() { _ = b.Sync("/") }() // ends with the connection
		synctest.Wait()
	}
	each(t, map[string]func(b *bench){
		"answers nothing": silent,
		"reads nothing":   deaf,
		"refuses": func(b *bench) {
			b.script(func() { b.refuse = func(string) error { return errRefused } })
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
	}, func(b *bench, trouble func(b *bench)) {
		b.connected()
		time.Sleep(time.Minute)
		trouble(b)
		begun := time.Now()
		require.ErrorIs(b, b.Close(within(b, 5*time.Second)), context.DeadlineExceeded)
		require.Equal(b, 5*time.Second, time.Since(begun))
	})
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

func TestAbandonLeavesTheSession(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		b.answers(answersNothing)
		get := bubble.Begin(func() error { _, _, err := b.Get("/a", false); return err })
		bubble.Never(b, get)
		begun := time.Now()
		b.Abandon()
		require.Zero(b, time.Since(begun))
		require.ErrorIs(b, bubble.Now(b, get), zkconn.ErrNoReply)
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
		bubble.Never(b, first)
		second := bubble.Begin(func() error { return b.Sync("/") })
		bubble.Never(b, second)
		closing := b.beginClose(time.Second)
		require.ErrorIs(b, bubble.Now(b, second), zkconn.ErrEnded)
		bubble.Never(b, first)
		resume()
		require.NoError(b, bubble.Now(b, closing))
		require.NoError(b, bubble.Now(b, first))
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
		require.NoError(b, bubble.Now(b, get))
		require.ErrorIs(b, errOf(b.Get("/a", false)), zkconn.ErrEnded)

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
