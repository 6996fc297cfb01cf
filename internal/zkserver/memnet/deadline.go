package memnet

import (
	"sync"
	"time"
)

// deadline is a channel that is closed while a point in time lies in the past.
type deadline struct {
	mu    sync.Mutex
	timer *time.Timer
	over  chan struct{} // nil: never set
}

func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil && !d.timer.Stop() {
		<-d.over // it fired, or is about to: its channel is spent
	}
	d.timer = nil
	if d.over == nil || isClosed(d.over) {
		d.over = make(chan struct{})
	}
	if t.IsZero() {
		return
	}
	if wait := time.Until(t); wait > 0 {
		over := d.over
		d.timer = time.AfterFunc(wait, func() { close(over) })
		return
	}
	close(d.over)
}

func (d *deadline) expired() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over == nil {
		d.over = make(chan struct{})
	}
	return d.over
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
