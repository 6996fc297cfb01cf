//go:build !linux

package history

import "time"

// Now is the wall clock in nanoseconds, for want of a monotonic clock that processes share: do not
// set it during a run.
func Now() int64 { return time.Now().UnixNano() }
