package lock

import "github.com/troupe-go/troupe/internal/crash"

// Crash makes the lock's actor panic.
func (l *Lock) Crash(value any) { crash.Instance(l.instance, value) }
