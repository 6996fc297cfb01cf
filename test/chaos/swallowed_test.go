//go:build chaos

package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// A panic swallows the message during which it occurs. If that is the session's notice of the end
// of an epoch, or of the beginning of the next, the next incarnation knows it all the same: the
// notice is not repeated.
func TestASwallowedNotice(t *testing.T) {
	kinds := map[string]func(seam.Event) bool{
		"ended": func(n seam.Event) bool { _, is := n.(seam.EpochEnded); return is },
		"began": func(n seam.Event) bool { _, is := n.(machine.EpochBegan); return is },
	}
	recipes := map[string]func(t *testing.T, s *session.Session) (again func() <-chan struct{}){
		"lock": func(t *testing.T, s *session.Session) func() <-chan struct{} {
			l, err := lock.New(s, "/line")
			require.NoError(t, err)
			l.Acquire()
			return func() <-chan struct{} { return came(l.Acquired()) }
		},
		"double barrier": func(t *testing.T, s *session.Session) func() <-chan struct{} {
			d, err := barrier.NewDouble(s, "/rounds", 1)
			require.NoError(t, err)
			return func() <-chan struct{} { d.Arrive(); return came(d.Entered()) }
		},
	}
	for recipe, use := range recipes {
		for kind, is := range kinds {
			t.Run(recipe+" "+kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					server := zktest.Start(t)
					s, err := session.Open(t.Context(), server.Hosts(), session.WithDialer(server.Dialer()))
					require.NoError(t, err)
					defer s.Close(context.WithoutCancel(t.Context()))
					armed := false // by the test, while nothing moves
					_, err = seam.NewClient(s, "told before the recipe", func(n seam.Event) {
						if armed && is(n) {
							actors.Panic() // the next actor that receives a message
						}
					}, nil)
					require.NoError(t, err)
					again := use(t, s)
					<-again()
					synctest.Wait()
					armed = true
					server.Expire(s.Status().SessionID)
					select {
					case <-again():
					case <-time.After(time.Minute):
						t.Fatal("it stands still")
					}
				})
			})
		}
	}
}

// came closes when the channel has delivered.
func came[T any](c <-chan T) <-chan struct{} {
	done := make(chan struct{})
	go func() { // ends with the delivery, which every test waits for or fails
		<-c
		close(done)
	}()
	return done
}
