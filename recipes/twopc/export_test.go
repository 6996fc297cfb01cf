package twopc

// Crash makes the coordinator's actor panic, for tests of supervision.
func (c *Coordinator) Crash(value any) { c.host.Panic(value) }

// Crash makes the site's actor panic, for tests of supervision.
func (p *Site) Crash(value any) { p.host.Panic(value) }
