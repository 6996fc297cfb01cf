package fxmodule

import (
	"fmt"
	"log/slog"
	"runtime/debug"
)

// panicError is a panic, or a runtime.Goexit, of the application's function.
type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// LogValue has the stack in the log.
func (p *panicError) LogValue() slog.Value {
	return slog.StringValue(p.Error() + "\n" + string(p.stack))
}

// recovered calls f in a goroutine of its own, and turns a panic in it, or a runtime.Goexit, into
// an error, a *panicError.
func recovered(f func() error) error {
	done := make(chan error, 1)
	go func() { // ends with f, for which the caller waits
		err := error(&panicError{value: "runtime.Goexit was called"})
		defer func() {
			if v := recover(); v != nil {
				err = &panicError{v, debug.Stack()}
			}
			done <- err
		}()
		err = f()
	}()
	return <-done
}
