package queue

import (
	"errors"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
	"github.com/troupe-go/troupe/session"
)

// Option changes how a Queue is used.
type Option func(*options) error

type options struct {
	capacity    int
	maxAttempts int
	visibility  time.Duration
	dead        string
	shards      int
	layout      Layout
}

func optionsOf(path string, opts []Option) (options, error) {
	o := options{dead: place.Root(path).Dead(), shards: 1}
	for i, opt := range opts {
		if opt == nil {
			return o, fmt.Errorf("opts[%d]: nil", i)
		}
		if err := opt(&o); err != nil {
			return o, err
		}
	}
	switch {
	case o.layout == Troupe:
	case o.capacity > 0:
		return o, fmt.Errorf("WithCapacity: %w in this layout", session.ErrUnsupported)
	case o.shards > 1:
		return o, fmt.Errorf("WithShards: %w in this layout", session.ErrUnsupported)
	case o.maxAttempts > 0:
		return o, fmt.Errorf("WithMaxAttempts: %w in this layout", session.ErrUnsupported)
	}
	return o, nil
}

// WithCapacity bounds the queue: nothing is put that would make it more than n items, those
// included that are being processed or wait for their delay; what does not fit is ErrFull. Only
// what a Consumer WithAutoAck puts back because nobody had received it is let in all the same: it
// was in the queue before. The capacity is kept in ZooKeeper and belongs to the queue. The first to
// put with this option gives it to the queue, which must not have had items before; whoever names
// another one later gets ErrCapacity, and whoever names none is bound all the same.
func WithCapacity(n int) Option {
	return func(o *options) error {
		if n < 1 {
			return fmt.Errorf("WithCapacity: %d is less than 1", n)
		}
		o.capacity = n
		return nil
	}
}

// WithMaxAttempts sends an item to the dead letters rather than claiming it for the n+1st time:
// after its nth Nack, or when its nth consumer died. Every claim counts, also one under which the
// item was given back because nobody had received it: see WithPrefetch.
func WithMaxAttempts(n int) Option {
	return func(o *options) error {
		if n < 1 {
			return fmt.Errorf("WithMaxAttempts: %d is less than 1", n)
		}
		o.maxAttempts = n
		return nil
	}
}

// WithVisibility bounds how long a consumer may keep an item, counted from its claim: when the time
// is over the item is lost (ErrOverdue) and delivered again. [Item.Extend] sets a new time. Without
// it an item is its consumer's for as long as his session lives.
func WithVisibility(d time.Duration) Option {
	return func(o *options) error {
		if d < time.Millisecond {
			return fmt.Errorf("WithVisibility: %v is less than a millisecond", d)
		}
		o.visibility = d
		return nil
	}
}

// WithDeadLetters says where items go after too many attempts: a queue of its own, to be read with
// New on that path. Without it, it is "dead" below the queue.
func WithDeadLetters(path string) Option {
	return func(o *options) error {
		if err := znode.Validate(path); err != nil || path == "/" {
			return fmt.Errorf("WithDeadLetters: %w: %s", session.ErrInvalidPath, path)
		}
		o.dead = path
		return nil
	}
}

// WithShards divides the queue into n lines, at most 256. Items are put into them in turn (those of
// one PutAll together, unless they have a delay), and each consumer begins with another one: so
// consumers get in each other's way less. The price is the order: it is kept within a line only.
// Priorities are kept across all.
func WithShards(n int) Option {
	return func(o *options) error {
		if n < 1 || n > place.MaxShards {
			return fmt.Errorf("WithShards: %d is not between 1 and %d", n, place.MaxShards)
		}
		o.shards = n
		return nil
	}
}

// WithLayout writes and reads the znodes of another library's queue, to live with it on one path.
// What a layout can't express is session.ErrUnsupported.
func WithLayout(l Layout) Option {
	return func(o *options) error {
		if _, ok := layouts[l]; !ok && l != Troupe {
			return fmt.Errorf("WithLayout: %d is no layout", l)
		}
		o.layout = l
		return nil
	}
}

// PutOption changes how items are put.
type PutOption func(*putOptions) error

type putOptions struct {
	priority  int
	ranked    bool
	delay     time.Duration
	id        string
	named     bool
	ephemeral bool
}

// WithPriority puts an item before all those with a higher number, and behind those that have the
// same and came before; 0 without it. Numbers are from -9999 to 9999; in kazoo's layouts from 0 to
// 999, and 100 without it.
func WithPriority(n int) PutOption {
	return func(o *putOptions) error {
		if n < place.MinPriority || n > place.MaxPriority {
			return fmt.Errorf("WithPriority: %d is not between %d and %d", n, place.MinPriority, place.MaxPriority)
		}
		o.priority, o.ranked = n, true
		return nil
	}
}

// WithDelay lets an item arrive in line only when d is over, by the servers' clock: that of the
// leader at the time of the put, and again when it is due. The clocks of clients do not matter, but
// that they go at about the same rate. Precision: milliseconds, and never early.
func WithDelay(d time.Duration) PutOption {
	return func(o *putOptions) error {
		if d < 0 {
			return fmt.Errorf("WithDelay: %v is negative", d)
		}
		o.delay = d
		return nil
	}
}

// maxID is the longest id: it is a part of two znodes' names.
const maxID = 255

// WithID names the item. While one with this id lives, waiting or being processed, another is
// refused with ErrDuplicate: so a Put whose outcome is unknown to the caller can be repeated. An
// item that is acknowledged, removed or among the dead letters has given its id back.
func WithID(id string) PutOption {
	return func(o *putOptions) error {
		switch {
		case id == "":
			return errors.New("WithID: empty")
		case len(id) > maxID:
			return fmt.Errorf("WithID: longer than %d bytes", maxID)
		}
		if err := znode.Validate("/" + id); err != nil {
			return fmt.Errorf("WithID: %w", err)
		}
		if parent, _ := znode.Split("/" + id); parent != "/" {
			return errors.New("WithID: it contains a slash")
		}
		o.id, o.named = id, true
		return nil
	}
}

// WithEphemeral puts an item that is gone with its producer: when the producer's ZooKeeper session
// ends, and before that if the part of its process that puts fails and is restarted. Without it an
// item outlives its producer.
func WithEphemeral() PutOption {
	return func(o *putOptions) error {
		o.ephemeral = true
		return nil
	}
}

func putOptionsOf(q *Queue, n int, opts []PutOption) (putOptions, error) {
	var o putOptions
	for i, opt := range opts {
		if opt == nil {
			return o, fmt.Errorf("opts[%d]: nil", i)
		}
		if err := opt(&o); err != nil {
			return o, err
		}
	}
	switch {
	case o.named && n > 1:
		return o, errors.New("WithID: for one item only")
	case o.ephemeral && o.delay > 0:
		return o, fmt.Errorf("WithEphemeral: %w with a delay: whoever moves the item into line is not its producer", session.ErrUnsupported)
	case o.ephemeral && q.cfg.capacity > 0:
		return o, fmt.Errorf("WithEphemeral: %w in a bounded queue: nobody gives back the room of an item that is just gone", session.ErrUnsupported)
	}
	return o, q.cfg.layout.check(&o)
}
