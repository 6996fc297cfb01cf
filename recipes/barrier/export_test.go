package barrier

// What tests may do to a double barrier.

import (
	"github.com/troupe-go/troupe/internal/crash"
)

// Crash makes the party's actor panic.
func (d *Double) Crash(value any) { crash.Instance(d.host, value) }
