package twopc

import (
	"github.com/troupe-go/troupe/internal/crash"
	"github.com/troupe-go/troupe/recipes/twopc/internal/protocol"
)

// Crash makes the coordinator's actor panic.
func (c *Coordinator) Crash(value any) { crash.Instance(c.host, value) }

// Crash makes the site's actor panic.
func (s *Site) Crash(value any) { crash.Instance(s.host, value) }

// RepeatProgress reports progress as a machine does that has not heard of an Abort yet.
func (c *Coordinator) RepeatProgress(t *Tx) {
	c.mu.Lock()
	progressed := protocol.Progressed{Request: t.request}
	c.mu.Unlock()
	progressed.Request.Abort = protocol.Abort{}
	c.perform(progressed)
}
