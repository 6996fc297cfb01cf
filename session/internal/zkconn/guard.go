package zkconn

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
)

// errPanic is a panic in a goroutine of the library, or in code of the application that runs here:
// its dialer, its connections, its TLS.
var errPanic = errors.New("panic")

// guard is deferred where a panic has to be an error.
func guard(log *slog.Logger, doing string, err *error) {
	if reason := recover(); reason != nil {
		log.Error("zkconn panicked", "while", doing, "panic", fmt.Sprint(reason), "stack", string(debug.Stack()))
		*err = fmt.Errorf("%s: %w: %v", doing, errPanic, reason)
	}
}
