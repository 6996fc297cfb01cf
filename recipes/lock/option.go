package lock

import (
	"errors"
	"fmt"

	"github.com/troupe-go/troupe/internal/znode"
)

// Option changes how a Lock is made.
type Option func(*options) error

type options struct {
	data   []byte
	layout Layout
	weight int // 0: not given
}

func optionsOf(opts []Option) (options, error) {
	var o options
	for i, opt := range opts {
		if opt == nil {
			return o, fmt.Errorf("opts[%d]: nil", i)
		}
		if err := opt(&o); err != nil {
			return o, err
		}
	}
	return o, nil
}

// WithData puts data into the contender znode, for others to see with [Lock.Contenders]: who this is, say. They must not begin with "unlock", which
// is how a revocation is written; nor, in a semaphore or a shared lock, with a line "held" or "placed <number>", which these note themselves.
func WithData(data []byte) Option {
	return func(o *options) error {
		if znode.Revoked(data) {
			return errors.New("WithData: data must not begin with \"unlock\"")
		}
		o.data = append([]byte(nil), data...)
		return nil
	}
}
