package queue

import "github.com/troupe-go/troupe/internal/crash"

// PanicTaking makes the actor that takes for the callers of Take panic.
func (q *Queue) PanicTaking(value any) { q.takes.panic(value) }

// Panic makes the consumer's actor panic.
func (c *Consumer) Panic(value any) { c.from.panic(value) }

func (in *intake) panic(value any) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.host != nil {
		crash.Instance(in.host, value)
	}
}
