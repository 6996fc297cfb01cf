package group

// What the tests may do to the inside.

import "github.com/troupe-go/troupe/internal/crash"

// Crash makes the membership's actor panic.
func (m *Membership) Crash(value any) { crash.Instance(m.host, value) }
