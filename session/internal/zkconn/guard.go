package zkconn

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/troupe-go/troupe/internal/notify"
)

// What goes wrong in code of the application that runs here: its dialer, its connections, its TLS.
var (
	errPanic       = errors.New("panic")
	errGoexit      = errors.New("runtime.Goexit was called")
	errNotReturned = errors.New("the application's function did not return")
)

// guard is deferred where a panic has to be an error.
func guard(log *slog.Logger, doing string, err *error) {
	reason := recover()
	if reason == nil && *err == errGoexit {
		reason = errGoexit
	}
	if reason != nil {
		log.Error("zkconn panicked", "while", doing, "panic", fmt.Sprint(reason), "stack", string(debug.Stack()))
		*err = fmt.Errorf("%s: %w: %v", doing, errPanic, reason)
	}
}

// apart calls a function of the application's in a goroutine of its own. If it has not returned
// when left closes, that goroutine is left alone, and late gets what is returned after all.
func apart[T any](log *slog.Logger, doing string, left *notify.Latch, f func() (T, error), late func(T)) (T, error) {
	var made, none T
	err, returned := errGoexit, make(chan struct{})
	go func() { // ends with f, if that ever returns
		defer guard(log, doing, new(error))
		defer func() {
			select {
			case returned <- struct{}{}:
			case <-left.C():
				late(made)
			}
		}()
		defer guard(log, doing, &err)
		made, err = f()
	}()
	select {
	case <-returned:
		return made, err
	case <-left.C():
	}
	return none, leave(log, doing)
}

// leave leaves a goroutine alone.
func leave(log *slog.Logger, doing string) error {
	log.Warn("a function of the application's does not return: its goroutine is left alone", "while", doing)
	return errNotReturned
}
