package zkconn

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
)

// errPanic is a panic in a goroutine of the library, or in code of the application that runs here:
// its dialer, its connections, its TLS.
var errPanic = errors.New("panic")

// panicked logs a panic and returns it as an error.
func panicked(log *slog.Logger, doing string, reason any) error {
	log.Error("zkconn panicked", "while", doing, "panic", fmt.Sprint(reason), "stack", string(debug.Stack()))
	return fmt.Errorf("%s: %w: %v", doing, errPanic, reason)
}

// guard is deferred where code of the application runs. A panic there is an error.
func guard(log *slog.Logger, doing string, err *error) {
	if reason := recover(); reason != nil {
		*err = panicked(log, doing, reason)
	}
}

// guard is deferred by what the library calls, or a timer. A panic loses the connection.
func (w *wire) guard(doing string, err *error) {
	if reason := recover(); reason != nil {
		*err = panicked(w.conn.log, doing, reason)
		w.lose(*err)
	}
}

// guardNetwork is deferred where the network is used. A panic there is an error.
func (w *wire) guardNetwork(doing string, err *error) {
	if reason := recover(); reason != nil {
		*err = panicked(w.conn.log, doing, reason)
	} else if *err != nil {
		*err = &networkError{doing, *err}
	}
}

// networkError is an error that the network reported: the connection was closed, or timed out.
type networkError struct {
	doing string
	err   error
}

func (e *networkError) Error() string { return e.doing + ": " + e.err.Error() }

func (e *networkError) Unwrap() error { return e.err }

// hungUp tells whether the other side closed the connection, or the network did.
func hungUp(cause error) bool {
	_, broken := errors.AsType[*networkError](cause)
	return broken && !timedOut(cause)
}

func timedOut(cause error) bool {
	timeout, ok := errors.AsType[net.Error](cause)
	return ok && timeout.Timeout()
}
