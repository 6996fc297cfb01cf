package barrier

// Access to a double barrier for tests.

import (
	"github.com/troupe-go/troupe/internal/crash"
)

// Crash makes the party's actor panic.
func (d *Double) Crash(value any) { crash.Instance(d.host, value) }
