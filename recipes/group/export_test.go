package group

// What the tests may do to the inside.

import "github.com/troupe-go/troupe/internal/crash"

// Crash makes the membership's actor panic.
func (s *Membership) Crash(value any) { crash.Instance(s.host, value) }
