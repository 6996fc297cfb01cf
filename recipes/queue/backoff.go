package queue

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// Backoff is the pause before an item is delivered again after the attempt with this number, the
// first being 1, that ended with [Item.Nack]. Zero or less is no pause. What was lost, or was never
// received, comes back without one.
type Backoff func(attempt int) time.Duration

// The pauses of [WithBackoff], and the attempts of [WithMaxAttempts], unless they are given.
const (
	leastPause       = time.Second
	mostPause        = time.Hour
	usualMaxAttempts = 25
)

// Exponential is a Backoff that begins at about least, doubles with each attempt up to most, and
// differs at random by up to a quarter, so that items that failed together do not come back
// together.
func Exponential(least, most time.Duration) Backoff {
	return func(attempt int) time.Duration {
		pause := float64(least) * math.Pow(2, float64(max(attempt, 1)-1))
		pause = min(pause, float64(most)) * (0.75 + rand.Float64()/2)
		return time.Duration(min(pause, math.MaxInt64/2))
	}
}

// WithBackoff sets the pause before an item is delivered again. The default is Exponential, from a
// second to an hour.
func WithBackoff(b Backoff) Option {
	return func(o *options) error {
		if b == nil {
			return errors.New("WithBackoff: nil")
		}
		o.backoff = b
		return nil
	}
}

// NackOption configures how an item is returned.
type NackOption func(*nackOptions) error

type nackOptions struct {
	after time.Duration
	given bool
}

// After has the item delivered again after d, by the servers' clock, instead of after the pause
// that WithBackoff sets. With 0 it is delivered again at once.
func After(d time.Duration) NackOption {
	return func(o *nackOptions) error {
		if d < 0 {
			return fmt.Errorf("After: %v is negative", d)
		}
		o.after, o.given = d, true
		return nil
	}
}

func nackOptionsOf(opts []NackOption) (o nackOptions, err error) {
	for i, opt := range opts {
		err := fmt.Errorf("opts[%d]: nil", i)
		if opt != nil {
			err = opt(&o)
		}
		if err != nil {
			return o, err
		}
	}
	return o, nil
}
