package zkconn_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// mute lets the server answer everything but the sets of data.
func mute(_ *visit, q jute.Request) (jute.Reply, bool) { return success(q), q.Op != jute.OpSetData }

// A server hangs up at a request when it reads it. A connection that is lost long after that, as
// when a server has lost its leader, is no reason to blame the request.
func TestALateLossIsNotTheRequests(t *testing.T) {
	inBubble(t, func(b *bench) {
		for range 10 {
			v := b.connected()
			require.NoError(b, b.Sync("/"))
			set := bubble.Begin(func() error { _, err := b.Set("/a", make([]byte, 5000), -1); return err })
			time.Sleep(timeout / 4)
			v.hangUp()
			err := got(b, set)
			require.ErrorIs(b, err, zkconn.ErrNoReply)
			require.NotErrorIs(b, err, zkconn.ErrCutOff)
			time.Sleep(100 * time.Millisecond) // so that no ping is answered meanwhile
		}
		b.script(func() { b.answer = nil })
		_, err := b.Set("/a", make([]byte, 5000), -1)
		require.NoError(b, err)
	}, func(f *fake, _ *zkconn.Config) { f.answer = mute })
}

// Nor is it to blame if the connection was given up on this side.
func TestAConnectionThatWasGivenUpIsNotTheRequests(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(v *visit){
		"malformed":     func(v *visit) { v.write(frame(16, -7)) },
		"to nothing":    func(v *visit) { v.write(frame(16, 99)) },
		"session moved": func(v *visit) { v.reply(v.asked()[1], failure(jute.SessionMoved)) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				v := b.connected()
				require.NoError(b, b.Sync("/"))
				one := bubble.Begin(func() error { _, err := b.Set("/a", nil, -1); return err })
				synctest.Wait()
				another := bubble.Begin(func() error { _, err := b.Set("/b", make([]byte, 5000), -1); return err })
				synctest.Wait()
				end(v)
				for _, set := range []<-chan error{one, another} {
					err := got(b, set)
					require.ErrorIs(b, err, zkconn.ErrNoReply)
					require.NotErrorIs(b, err, zkconn.ErrCutOff)
				}
			}, func(f *fake, _ *zkconn.Config) { f.answer = mute })
		})
	}
}
