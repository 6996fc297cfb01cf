package fxmodule

import (
	"fmt"
	"log/slog"
	"runtime/debug"
)

// panicError is a panic of the application's function.
type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// LogValue has the stack in the log.
func (p *panicError) LogValue() slog.Value {
	return slog.StringValue(p.Error() + "\n" + string(p.stack))
}

// recovered calls f and turns a panic in it into an error, a *panicError.
func recovered(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{v, debug.Stack()}
		}
	}()
	return f()
}
