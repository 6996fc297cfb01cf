package election

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"
	"unicode/utf8"
)

// Option changes how an Election is made.
type Option func(*options) error

type options struct {
	id     string
	data   []byte
	layout Layout
	warn   time.Duration
}

// warnAfter is when a term is logged that nobody receives, without WithWarnAfter.
const warnAfter = 10 * time.Second

// newOptions applies the options, and makes of them what a candidate's znode contains at first.
func newOptions(opts []Option) (options, []byte, error) {
	o := options{id: defaultID(), warn: warnAfter}
	for i, opt := range opts {
		if opt == nil {
			return o, nil, fmt.Errorf("opts[%d]: nil", i)
		}
		if err := opt(&o); err != nil {
			return o, nil, err
		}
	}
	data, err := o.content()
	return o, data, err
}

// WithID names this candidate to the others; it must be unique among those on the path. Without it
// the name is made of the host's name, the process's number and a random part.
func WithID(id string) Option {
	return func(o *options) error {
		if id == "" {
			return errors.New("WithID: empty")
		}
		if !utf8.ValidString(id) {
			return errors.New("WithID: not UTF-8")
		}
		o.id = id
		return nil
	}
}

// WithData puts data into the candidate's znode, for others to see from the moment it stands: where
// to reach it, say. [Term.Proclaim] replaces them for the rest of a term; the next candidacy begins
// with these again.
func WithData(data []byte) Option {
	return func(o *options) error {
		o.data = append([]byte(nil), data...)
		return nil
	}
}

// WithWarnAfter sets after which time a term that waits to be received from [Election.Leader] is
// logged, as a warning in the session's log, with the place in the program where Campaign was
// called: nobody leads meanwhile. 10 seconds without it; 0 is never.
func WithWarnAfter(d time.Duration) Option {
	return func(o *options) error {
		if d < 0 {
			return fmt.Errorf("WithWarnAfter: d: negative: %v", d)
		}
		o.warn = d
		return nil
	}
}

func defaultID() string {
	name, err := os.Hostname()
	if err != nil || !utf8.ValidString(name) {
		name = "unknown"
	}
	return fmt.Sprintf("%s-%d-%08x", name, os.Getpid(), rand.Uint32())
}
