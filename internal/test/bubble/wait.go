package bubble

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// Minute is a context for calls that should take no time at all. It outlives the test, for cleaning
// up.
func Minute(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// Begin calls a function beside the test, which receives its result.
func Begin[T any](f func() T) <-chan T {
	done := make(chan T, 1)
	go func() { done <- f() }() // ends with f
	return done
}

// Within receives in at most d, or learns that the channel has closed. As in package require, the
// last arguments, here and below, are a message for the case of a failure.
func Within[T any](t testing.TB, d time.Duration, c <-chan T, what ...any) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(d):
		fail(t, what, "nothing within %v", d)
		panic("unreachable")
	}
}

// Get receives a value in at most a minute; the channel may not close instead.
func Get[T any](t testing.TB, c <-chan T, what ...any) T {
	t.Helper()
	select {
	case v, open := <-c:
		if !open {
			fail(t, what, "the channel has closed")
		}
		return v
	case <-time.After(time.Minute):
		fail(t, what, "nothing came")
		panic("unreachable")
	}
}

// Await receives values until one satisfies, and returns it.
func Await[T any](t testing.TB, c <-chan T, what string, ok func(T) bool) T {
	t.Helper()
	for {
		if v := Get(t, c, what); ok(v) {
			return v
		}
	}
}

// First receives from the channel that delivers first, in at most d, and tells whether that was the
// second.
func First[T, U any](t testing.TB, d time.Duration, a <-chan T, b <-chan U) (second bool) {
	t.Helper()
	select {
	case <-a:
		return false
	case <-b:
		return true
	case <-time.After(d):
		fail(t, nil, "neither within %v", d)
		panic("unreachable")
	}
}

// Now receives a value that has to be there when everything has settled, without any time passing.
func Now[T any](t testing.TB, c <-chan T, what ...any) T {
	t.Helper()
	synctest.Wait()
	select {
	case v := <-c:
		return v
	default:
		fail(t, what, "not yet")
		panic("unreachable")
	}
}

// Never fails if the channel has delivered, or closed, when everything has settled.
func Never[T any](t testing.TB, c <-chan T, what ...any) {
	t.Helper()
	synctest.Wait()
	select {
	case v := <-c:
		fail(t, what, "got %+v", v)
	default:
	}
}

// Closed fails unless the channel has closed when everything has settled, and has nothing more to
// tell.
func Closed[T any](t testing.TB, c <-chan T, what ...any) {
	t.Helper()
	synctest.Wait()
	select {
	case v, open := <-c:
		if open {
			fail(t, what, "got %+v, and it should have closed", v)
		}
	default:
		fail(t, what, "it has not closed")
	}
}

// Closes receives until the channel closes, which has to be within a minute.
func Closes[T any](t testing.TB, c <-chan T, what ...any) {
	t.Helper()
	late := time.After(time.Minute)
	for {
		select {
		case _, open := <-c:
			if !open {
				return
			}
		case <-late:
			fail(t, what, "it has not closed")
		}
	}
}

// fail ends the test. If that runs on a World, the message has the server's state.
func fail(t testing.TB, what []any, format string, args ...any) {
	t.Helper()
	message := fmt.Sprintf(format, args...)
	if len(what) > 0 {
		message = fmt.Sprint(what...) + ": " + message
	}
	if w, ok := t.(interface{ state() string }); ok {
		message += "\n" + w.state()
	}
	t.Fatal(message)
}
