// What a codec does costs its cell at most.

package config_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/config"
	"github.com/troupe-go/troupe/session"
)

// odd does something before it decodes "odd".
type odd struct {
	config.Codec[string]
	does func()
}

func (o odd) Decode(data []byte) (string, error) {
	if strings.HasPrefix(string(data), "odd") {
		o.does()
	}
	return string(data), nil
}

func TestACodecEndsNothing(t *testing.T) {
	t.Parallel()
	type row struct {
		does  func(letGo chan struct{}, times int)
		value string // of the cell, two minutes later
		stays int    // goroutines
	}
	for name, r := range map[string]row{
		"it panics once": {func(_ chan struct{}, times int) {
			if times == 1 {
				panic("on purpose")
			}
		}, "one", 0},
		"it ends its goroutine once": {func(_ chan struct{}, times int) {
			if times == 1 {
				runtime.Goexit()
			}
		}, "odd", 0},
		"it is slow":       {func(chan struct{}, int) { time.Sleep(time.Minute) }, "odd", 0},
		"it never returns": {func(letGo chan struct{}, _ int) { <-letGo }, "one", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(w *bubble.World) {
				ctx, letGo, times := w.Context(), make(chan struct{}), 0
				defer close(letGo)
				var log bubble.Log
				s, err := session.Open(ctx, w.Server.Hosts(), session.WithDialer(w.Server.Dialer()), log.Option())
				require.NoError(w, err)
				_, err = s.Create(ctx, "/a", []byte("one"))
				require.NoError(w, err)
				cell, err := config.Open(ctx, s, "/a", odd{config.Text(), func() {
					times++
					r.does(letGo, times)
				}})
				require.NoError(w, err)
				plain, err := config.Open(ctx, s, "/a", config.Text())
				require.NoError(w, err)
				_, err = s.Set(ctx, "/a", []byte("odd"), -1)
				require.NoError(w, err)
				time.Sleep(2 * time.Minute)
				require.Equal(w, "odd", plain.Load().Value)
				require.Equal(w, r.value, cell.Load().Value)
				require.EqualValues(w, 1, s.Status().Epoch)
				began := time.Now()
				require.NoError(w, s.Close(ctx))
				require.LessOrEqual(w, time.Since(began), 3*time.Second)
				require.Empty(w, w.Server.Sessions())
				require.Equal(w, r.stays, log.Count("an actor does not end"))
			})
		})
	}
}
