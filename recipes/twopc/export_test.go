package twopc

import "github.com/troupe-go/troupe/internal/crash"

// Crash makes the coordinator's actor panic.
func (c *Coordinator) Crash(value any) { crash.Instance(c.host, value) }

// Crash makes the site's actor panic.
func (p *Site) Crash(value any) { crash.Instance(p.host, value) }
