package barrier

// Crash makes the party's actor panic, for tests of supervision.
func (d *Double) Crash(value any) { d.host.Panic(value) }
