package group

// Crash makes the membership's actor panic, for tests of supervision.
func (s *Membership) Crash(value any) { s.host.Panic(value) }
