package queue

import (
	"errors"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
	"github.com/troupe-go/troupe/session"
)

// Option configures a Queue.
type Option func(*options) error

type options struct {
	capacity    int
	maxAttempts int
	visibility  time.Duration
	dead        string
	shards      int
	backoff     Backoff
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
	if o.maxAttempts == 0 {
		o.maxAttempts = usualMaxAttempts
	}
	if o.backoff == nil {
		o.backoff = Exponential(leastPause, mostPause)
	}
	return o, nil
}

// WithCapacity limits the queue to n items, including those that are being processed or wait for
// their delay; a Put beyond that is ErrFull. The one exception: items that a Consumer WithAutoAck
// puts back because nobody had received them are accepted, since they were in the queue before. The
// capacity is stored in ZooKeeper and belongs to the queue. The first Put with this option sets it,
// when the queue is empty; with items in it the error is ErrCapacity. From then on it binds every
// producer, also one that began before. A handle with a different capacity gets ErrCapacity; a
// handle without this option is limited all the same.
func WithCapacity(n int) Option {
	return func(o *options) error {
		if n < 1 {
			return fmt.Errorf("WithCapacity: %d is less than 1", n)
		}
		o.capacity = n
		return nil
	}
}

// WithMaxAttempts moves an item to the dead letters instead of delivering it for the (n+1)th time:
// after its nth Nack, or when its nth consumer died. An attempt counts when the item was received:
// what was claimed and goes back unreceived is as if it had never been claimed. The default is 25;
// math.MaxInt keeps items for ever.
func WithMaxAttempts(n int) Option {
	return func(o *options) error {
		if n < 1 {
			return fmt.Errorf("WithMaxAttempts: %d is less than 1", n)
		}
		o.maxAttempts = n
		return nil
	}
}

// WithVisibility limits how long an item may take, counted from when it is handed out: a receiver
// can have it from then on. After that time the item is lost (ErrOverdue) and delivered again.
// [Item.Extend] sets a new time. Without this option an item belongs to its consumer for as long as
// the consumer's session lives.
func WithVisibility(d time.Duration) Option {
	return func(o *options) error {
		if d < time.Millisecond {
			return fmt.Errorf("WithVisibility: %v is less than a millisecond", d)
		}
		o.visibility = d
		return nil
	}
}

// WithDeadLetters sets the path of the queue to which items go after too many attempts; read it
// with New on that path. The default is "dead" below the queue.
func WithDeadLetters(path string) Option {
	return func(o *options) error {
		if err := znode.Validate(path); err != nil || path == "/" {
			return fmt.Errorf("WithDeadLetters: %w: %s", session.ErrInvalidPath, path)
		}
		o.dead = path
		return nil
	}
}

// WithShards divides the queue into n shards, at most 256. Items are put into them in turn, those
// of one PutAll together, and taken from them in turn. Order is kept only within a shard;
// priorities are kept across all shards. Shards do not relieve consumers of each other: claims of a
// queue follow one another, however many shards it has.
func WithShards(n int) Option {
	return func(o *options) error {
		if n < 1 || n > place.MaxShards {
			return fmt.Errorf("WithShards: %d is not between 1 and %d", n, place.MaxShards)
		}
		o.shards = n
		return nil
	}
}

// PutOption configures how items are put.
type PutOption func(*putOptions) error

type putOptions struct {
	priority  int
	delay     time.Duration
	id        string
	named     bool
	ephemeral bool
	headers   []string // names and values by turns
	under     *session.Hold
	guard     []machine.Op // of under
}

// WithPriority puts an item before all those with a higher number, and behind those with the same
// number that came earlier. The default is 0. Numbers range from -9999 to 9999.
func WithPriority(n int) PutOption {
	return func(o *putOptions) error {
		if n < place.MinPriority || n > place.MaxPriority {
			return fmt.Errorf("WithPriority: %d is not between %d and %d", n, place.MinPriority, place.MaxPriority)
		}
		o.priority = n
		return nil
	}
}

// WithDelay makes an item available only after d, by the servers' clocks: that of the leader at the
// time of the put, and again when it is due. Clients' clocks do not matter, as long as they run at
// about the same rate. The resolution is a millisecond, and an item is never early.
func WithDelay(d time.Duration) PutOption {
	return func(o *putOptions) error {
		if d < 0 {
			return fmt.Errorf("WithDelay: %v is negative", d)
		}
		o.delay = d
		return nil
	}
}

// maxID is the maximum length of an id, which is a part of two znodes' names.
const maxID = 255

// WithID sets the item's id. While an item with this id exists, waiting or being processed, another
// is refused with ErrDuplicate, so a Put whose outcome is unknown to the caller can be repeated. An
// id is free again when its item was acknowledged, removed or moved to the dead letters.
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
			return errors.New("WithID: contains a slash")
		}
		o.id, o.named = id, true
		return nil
	}
}

// WithEphemeral deletes an item with its producer: when the producer's ZooKeeper session ends, or
// earlier if the producer's actor fails and is restarted. Without it an item outlives its producer.
func WithEphemeral() PutOption {
	return func(o *putOptions) error {
		o.ephemeral = true
		return nil
	}
}

// WithHeader gives an item a header: a trace's context, the type of its data. Headers travel with
// the item, also to the dead letters, and are read by [Item.Header]. Of two with the same key the
// last one counts.
func WithHeader(key, value string) PutOption {
	return func(o *putOptions) error {
		if key == "" {
			return errors.New("WithHeader: key: empty")
		}
		for n := 0; n < len(o.headers); n += 2 {
			if o.headers[n] == key {
				o.headers[n+1] = value
				return nil
			}
		}
		o.headers = append(o.headers, key, value)
		return nil
	}
}

// Under puts the items only if the hold stands, in one transaction with the checks that guard it:
// otherwise the error is session.ErrLost, and nothing is put. The hold must be of the queue's
// session.
func Under(hold *session.Hold) PutOption {
	return func(o *putOptions) error {
		if hold == nil {
			return errors.New("Under: hold: nil")
		}
		o.under = hold
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
		return o, errors.New("WithID: not allowed for several items")
	case o.ephemeral && o.delay > 0:
		return o, fmt.Errorf("WithEphemeral: %w with a delay: the consumer that moves a due item is not its producer", session.ErrUnsupported)
	case o.ephemeral && q.cfg.capacity > 0:
		return o, fmt.Errorf("WithEphemeral: %w in a bounded queue: no process returns the capacity of an item that its session's end deletes", session.ErrUnsupported)
	}
	if o.under == nil {
		return o, nil
	}
	var err error
	if o.guard, err = recipe.Guard(q.session, o.under); err != nil {
		return o, fmt.Errorf("Under: %w", err)
	}
	return o, nil
}
