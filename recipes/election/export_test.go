package election

// What tests may do to a candidate.

import (
	"github.com/troupe-go/troupe/internal/crash"
)

// Panic makes the candidate's actor panic.
func (e *Election) Panic(value any) { crash.Instance(e.instance, value) }
