package actors_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
)

// silent is a question that is never answered.
func silent(func(int)) say { return func(*parrot) {} }

func TestAnAskIsAskedAgainOfTheNextIncarnation(t *testing.T) {
	t.Parallel()
	for name, die := range map[string]func(p *parrot, reply func(int)){
		"it panics on the question": func(p *parrot, _ func(int)) { panic("before the answer") },
		"it panics later, the answer owed": func(p *parrot, _ func(int)) {
			p.self.Ref().Tell(func(*parrot) { panic("before the answer") })
		},
		"it panics after a late answer of the dead": func(p *parrot, reply func(int)) {
			time.AfterFunc(time.Millisecond, func() { reply(-1) })
			panic("before the answer")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				sys := actors.New(fewRestarts)
				ref := spawn(t, sys.Scope(), polly(nil))
				asked := 0
				answer, err := actors.Ask(t.Context(), ref, func(reply func(int)) say {
					asked++
					return func(p *parrot) {
						if incarnation(p) == 1 {
							die(p, reply)
							return
						}
						reply(incarnation(p))
					}
				})
				require.NoError(t, err)
				require.Equal(t, 2, answer)
				require.Equal(t, 2, asked)
				closeSystem(t, sys)
			})
		})
	}
}

func TestAnAnswerGivenBeforeThePanicCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sys := actors.New(fewRestarts)
		ref := spawn(t, sys.Scope(), polly(nil))
		answer, err := actors.Ask(t.Context(), ref, func(reply func(int)) say {
			return func(p *parrot) {
				reply(incarnation(p))
				reply(-1) // the first one counts
				panic("after the answer")
			}
		})
		require.NoError(t, err)
		require.Equal(t, 1, answer)
		closeSystem(t, sys)
	})
}

func TestAnAskStillInTheMailboxIsNotToldTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sys := actors.New(fewRestarts)
		ref := spawn(t, sys.Scope(), polly(nil))
		for range 3 {
			ref.Tell(func(*parrot) { panic("not the question") })
		}
		received := 0
		answer, err := actors.Ask(t.Context(), ref, func(reply func(int)) say {
			return func(p *parrot) { received++; reply(incarnation(p)) }
		})
		require.NoError(t, err)
		require.Equal(t, 4, answer)
		synctest.Wait()
		require.Equal(t, 1, received)
		closeSystem(t, sys)
	})
}

func TestAnAskEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sys := actors.New()
		ref := spawn(t, sys.Scope(), polly(nil))
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := actors.Ask(ctx, ref, silent)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(began))

		why := errors.New("why")
		over, end := context.WithCancelCause(t.Context())
		end(why)
		_, err = actors.Ask(over, ref, func(func(int)) say { t.Error("asked, though nobody waits"); return nil })
		require.ErrorIs(t, err, why)
		closeSystem(t, sys)
	})
}

func TestAnAskEndsWithTheActor(t *testing.T) {
	t.Parallel()
	giveUp := actors.WithRestarts(actors.Restarts{Min: time.Second, Max: time.Second, Limit: 2})
	for name, end := range map[string]func(ref actors.Ref[say]){
		"stopped": actors.Ref[say].Stop,
		"stopped while it waits for its restart": func(ref actors.Ref[say]) {
			ref.Tell(func(*parrot) { panic("x") })
			synctest.Wait()
			ref.Stop()
		},
		"given up": func(ref actors.Ref[say]) {
			for range 3 {
				ref.Tell(func(*parrot) { panic("x") })
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				sys := actors.New(giveUp)
				ref := spawn(t, sys.Scope(), polly(nil))
				go end(ref) // ends by itself
				_, err := actors.Ask(t.Context(), ref, silent)
				require.ErrorIs(t, err, actors.ErrStopped)
				_, err = actors.Ask(t.Context(), ref, silent)
				require.ErrorIs(t, err, actors.ErrStopped)
				closeSystem(t, sys)
			})
		})
	}
}

func TestAQuestionThatAlwaysPanicsEndsWithTheActor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sys := actors.New(fewRestarts)
		ref := spawn(t, sys.Scope(), polly(nil))
		received := 0
		_, err := actors.Ask(t.Context(), ref, func(func(int)) say { return func(*parrot) { received++; panic("always") } })
		require.ErrorIs(t, err, actors.ErrStopped)
		require.Equal(t, 4, received)
		closeSystem(t, sys)
	})
}
