package zkconn

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// errPanic is what a panic in the library's goroutines becomes, or in what the application gave us
// to run there: its dialer, its connections, its TLS.
var errPanic = errors.New("panic")

// panicked logs a panic that was recovered, and makes it an error.
func (c *Conn) panicked(doing string, reason any) error {
	c.log.Error("zkconn panicked", "while", doing, "panic", fmt.Sprint(reason), "stack", string(debug.Stack()))
	return fmt.Errorf("%s: %w: %v", doing, errPanic, reason)
}

// guard is deferred by what the library calls: a panic there costs this connection.
func (w *wire) guard(doing string, err *error) {
	if reason := recover(); reason != nil {
		*err = w.conn.panicked(doing, reason)
		w.lose(*err)
	}
}

// guardNetwork is deferred where the network is used: a panic there is an error of the network.
func (w *wire) guardNetwork(doing string, err *error) {
	if reason := recover(); reason != nil {
		*err = w.conn.panicked(doing, reason)
	}
}
