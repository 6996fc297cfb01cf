package zkconn_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/jute"
)

// While a request is alone on its way others wait, but not the signs of life on which trust rests.
func TestSignsOfLifeDoNotWaitForASuspect(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		answerCreates(b, func(*visit, jute.Request) (jute.Reply, bool, bool) { return jute.Reply{}, false, true }) // no answers
		before := len(v.ops())
		ask := func(call func() error) {
			answers := bubble.Begin(call)
			synctest.Wait()
			b.Cleanup(func() { <-answers })
		}
		ask(func() error { _, _, err := b.Alone().Get("/suspect", false); return err })
		ask(func() error { _, _, err := b.Get("/other", false); return err })
		ask(func() error { return b.Alone().Sync("/") }) // a suspect itself, it waits
		ask(func() error { return b.Sync("/") })
		ask(func() error { return b.Prove("/") })
		require.Equal(b, []jute.Op{jute.OpGetData, jute.OpSync, jute.OpMulti}, v.ops()[before:])
	})
}
