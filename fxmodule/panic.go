package fxmodule

import (
	"fmt"
	"runtime/debug"
)

// panicError is what the application's function panicked with.
type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// recovered calls f and makes a panic in it an error, a *panicError.
func recovered(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{v, debug.Stack()}
		}
	}()
	return f()
}
