package lock

// Crash makes the lock's actor panic, for tests of supervision.
func (l *Lock) Crash(value any) { l.instance.Panic(value) }
