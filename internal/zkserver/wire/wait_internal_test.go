package wire

import (
	"testing"
	"testing/synctest"
	"time"
)

// What was due when it was looked at may be overdue by the time it is waited for.
func TestWhatIsOverdueIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(*testing.T) {
		w := &Wire{over: make(chan struct{}), ended: make(chan struct{})}
		w.waitUntil(time.Now().Add(-time.Nanosecond))
	})
}
