package session

import (
	"fmt"
	"time"
)

// WithTick tells the servers' tickTime, which allows a sharper margin of trust: possessions outlive
// a silence for longer. Without it, the session assumes the longest tick that its timeout allows,
// half of it. A timeout under three ticks needs this option, or [WithTrustMargin]: see
// docs/sessions.md.
func WithTick(d time.Duration) Option {
	return func(c *config) error {
		if d <= 0 {
			return fmt.Errorf("WithTick: %v is not positive", d)
		}
		c.tick = d
		return nil
	}
}

// WithTrustMargin sets by how much trust ends before the session timeout has passed since the last
// proof of life was sent. It replaces what the session computes, half the timeout without
// [WithTick], and is for those who know their servers, clocks and networks better. It must be less
// than the timeout; if the servers negotiate the timeout down to the margin or below, nothing can
// be held, which the log says.
func WithTrustMargin(d time.Duration) Option {
	return func(c *config) error {
		if d <= 0 {
			return fmt.Errorf("WithTrustMargin: %v is not positive", d)
		}
		c.margin = d
		return nil
	}
}

// checkTrust looks at the options together.
func (c *config) checkTrust() error {
	if c.margin >= c.timeout {
		return fmt.Errorf("WithTrustMargin: %v is not less than the timeout of %v", c.margin, c.timeout)
	}
	if c.tick > c.timeout/2 {
		return fmt.Errorf("WithTick: a timeout of %v is less than two ticks of %v, which no server grants", c.timeout, c.tick)
	}
	return nil
}
