package queue

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/session"
)

// Option configures a Queue. But for the capacity it is this handle's: two processes with different
// options work side by side, each by its own.
type Option func(*options) error

type options struct {
	acl         []session.ACL // nil: the session's
	capacity    int
	maxAttempts int
	visibility  time.Duration
	dead        string
	backoff     Backoff
	unsettled   time.Duration
}

func optionsOf(s *session.Session, path string, opts []Option) (options, error) {
	o := options{
		dead: layout.Root(path).Dead(), maxAttempts: 25, backoff: Exponential(time.Second, time.Hour), unsettled: 10 * time.Second,
	}
	err := recipe.Apply(&o, opts)
	switch {
	case err != nil:
	case o.dead == path || o.dead == "/":
		err = fmt.Errorf("WithDeadLetters: %w: path: it is the queue itself, or the root", session.ErrInvalidPath)
	default:
		err = recipe.CheckPath(s, "WithDeadLetters: path", o.dead)
	}
	return o, err
}

// when is an option that sets a value, or fails if its argument is wrong.
func when[O any](right bool, set func(*O), format string, args ...any) func(*O) error {
	return func(o *O) error {
		if !right {
			return fmt.Errorf(format, args...)
		}
		set(o)
		return nil
	}
}

// WithCapacity limits the queue to n items, including those that are being processed or wait for
// their delay; a Put beyond that is ErrFull. It does not hold up dead letters, nor items that a
// Consumer WithAutoAck puts back. The capacity is stored in ZooKeeper: the first Put with this
// option sets it, when the queue is empty; otherwise the error is ErrCapacity. From then on it
// binds every producer, also one without this option; one with another capacity gets ErrCapacity.
func WithCapacity(n int) Option {
	return when(n >= 1, func(o *options) { o.capacity = n }, "WithCapacity: %d is less than 1", n)
}

// WithMaxAttempts moves an item to the dead letters instead of delivering it for the (n+1)th time.
// The default is 25; math.MaxInt keeps items for ever. An item that a session had claimed when it
// ended has had an attempt, received or not: mind that with a large prefetch.
func WithMaxAttempts(n int) Option {
	return when(n >= 1, func(o *options) { o.maxAttempts = n }, "WithMaxAttempts: %d is less than 1", n)
}

// WithVisibility limits how long an item may take, from when it is offered, received or not. After
// that it is lost (ErrOverdue) and delivered again. [Item.Extend] sets a new time. Without this
// option an item belongs to its consumer for as long as the consumer's session lives.
func WithVisibility(d time.Duration) Option {
	return when(d >= time.Millisecond, func(o *options) { o.visibility = d }, "WithVisibility: %v is less than a millisecond", d)
}

// WithDeadLetters sets the path of the queue to which items go after too many attempts, full or
// not; read it with New on that path, or put them back with [Queue.Requeue]. The default is "dead"
// below the queue. It may not be the queue itself.
func WithDeadLetters(path string) Option {
	return when(true, func(o *options) { o.dead = path }, "")
}

// WithUnsettledWarning sets the time after which an item that was received and is neither
// acknowledged nor returned is logged, as a warning with the place of its Take or Consume; then
// after a minute and every ten minutes. The default is ten seconds; 0: never. An item that
// fxmodule.Consume has given to a function is not logged: it is settled when that returns.
func WithUnsettledWarning(d time.Duration) Option {
	return when(d >= 0, func(o *options) { o.unsettled = d }, "WithUnsettledWarning: d: negative: %v", d)
}

// Backoff is the pause that [Item.Nack] begins, after the attempt with this number; the first is 1.
// Zero or less is no pause.
type Backoff func(attempt int) time.Duration

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
	return when(b != nil, func(o *options) { o.backoff = b }, "WithBackoff: nil")
}

// PutOption configures how items are put.
type PutOption func(*putOptions) error

type putOptions struct {
	priority  int
	delay     time.Duration
	id        string
	ephemeral bool
	headers   []string // names and values by turns
	hold      *session.Hold
	guard     []session.Op // checks that the possession exists
}

// WithPriority puts an item before all those with a higher number, and behind those with the same
// number that came earlier. The default is 0. Numbers range from -9999 to 9999.
func WithPriority(n int) PutOption {
	return when(n >= layout.MinPriority && n <= layout.MaxPriority, func(o *putOptions) { o.priority = n }, "WithPriority: %d is not between %d and %d", n, layout.MinPriority, layout.MaxPriority)
}

// WithDelay makes an item available only after d, by the servers' clocks: a client only measures
// how long it waits before it lists again. The resolution is a millisecond; nothing is early.
func WithDelay(d time.Duration) PutOption {
	return when(d >= 0, func(o *putOptions) { o.delay = d }, "WithDelay: %v is negative", d)
}

// maxID is the maximum length of an id, which is a znode's name.
const maxID = 255

// WithID sets the item's id. While an item with this id waits, is delayed or being processed,
// another is refused with ErrDuplicate, so a Put whose outcome is unknown to the caller can be
// repeated. An id is free again when its item was acknowledged or removed, or is a dead letter.
func WithID(id string) PutOption {
	return func(o *putOptions) error {
		switch err := znode.Validate("/" + id); {
		case id == "":
			return errors.New("WithID: empty")
		case len(id) > maxID:
			return fmt.Errorf("WithID: longer than %d bytes", maxID)
		case !utf8.ValidString(id):
			return errors.New("WithID: not UTF-8")
		case err != nil:
			return fmt.Errorf("WithID: %w", err)
		case strings.Contains(id, "/"):
			return errors.New("WithID: contains a slash")
		}
		o.id = id
		return nil
	}
}

// WithEphemeral deletes an item with its producer's ZooKeeper session, claimed or not. Such an item
// cannot pause: Nack returns it at once. After WithMaxAttempts it is deleted, and a Consumer
// WithAutoAck that had taken it does not put it back. Without this option an item outlives its
// producer.
func WithEphemeral() PutOption { return when(true, func(o *putOptions) { o.ephemeral = true }, "") }

// WithHeader gives an item a header: a trace's context, the type of its data. Headers travel with
// the item, also to the dead letters, and are read by [Item.Header]. They are UTF-8. A second value
// for a key replaces the first.
func WithHeader(key, value string) PutOption {
	return func(o *putOptions) error {
		switch {
		case key == "":
			return errors.New("WithHeader: key: empty")
		case !utf8.ValidString(key) || !utf8.ValidString(value):
			return errors.New("WithHeader: not UTF-8")
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

// WithHold puts the items only while the possession exists: the transaction that puts them checks
// it. If it has ended, or p is nil, as the Term of a candidate that does not lead, nothing is put.
// Errors: session.ErrLost; session.ErrUnsupported for a possession of another session.
func WithHold(p session.Possession) PutOption {
	hold := recipe.HoldOf(p)
	return when(hold != nil, func(o *putOptions) { o.hold = hold }, "WithHold: p: %w: no possession", session.ErrLost)
}

func putOptionsOf(ctx context.Context, q *Queue, n int, opts []PutOption) (o putOptions, err error) {
	o.headers = recipe.Headers(ctx, q.session) // before those of opts, which replace them
	if err = recipe.Apply(&o, opts); err != nil {
		return o, err
	}
	switch {
	case o.id != "" && n > 1:
		return o, errors.New("WithID: not allowed for several items")
	case o.ephemeral && o.delay > 0:
		return o, fmt.Errorf("WithEphemeral: %w with a delay: the consumer that moves a due item is not its producer", session.ErrUnsupported)
	case o.hold == nil:
		return o, nil
	}
	for _, part := range recipe.HoldsFrom(o.hold.Context()) {
		if part.Session() != q.session {
			return o, fmt.Errorf("WithHold: %w: the possession belongs to another session", session.ErrUnsupported)
		}
		o.guard = append(o.guard, recipe.Under(session.CheckOp(part.Path(), -1), o.hold))
	}
	return o, nil
}

// ConsumeOption configures a Consumer.
type ConsumeOption func(*consumeOptions) error

type consumeOptions struct {
	prefetch int // 0: as many as workers
	workers  int
	auto     bool
}

const mostPrefetch = 10_000

// WithPrefetch lets a consumer have up to n items that are neither acknowledged nor returned,
// received or not; with WithAutoAck, n that wait to be received. The default is the number of
// WithWorkers, so that no item lies with a busy consumer; a larger one spares quick workers a wait.
func WithPrefetch(n int) ConsumeOption {
	return when(n >= 1 && n <= mostPrefetch, func(o *consumeOptions) { o.prefetch = n }, "WithPrefetch: %d is not between 1 and %d", n, mostPrefetch)
}

// WithWorkers tells how many goroutines receive from Items, so that the consumer claims an item for
// each. The default is 1. WithPrefetch takes precedence.
func WithWorkers(n int) ConsumeOption {
	return when(n >= 1 && n <= mostPrefetch, func(o *consumeOptions) { o.workers = n }, "WithWorkers: %d is not between 1 and %d", n, mostPrefetch)
}

// WithAutoAck deletes items when it takes them: each is delivered at most once, and items that a
// process had taken are lost if it dies, up to the prefetch. It is the queue of ZooKeeper's recipe
// page.
func WithAutoAck() ConsumeOption { return when(true, func(o *consumeOptions) { o.auto = true }, "") }

// NackOption configures how an item is returned.
type NackOption func(*nackOptions) error

type nackOptions struct {
	after time.Duration
	given bool
	err   error
}

// WithPause has the item delivered again after d, by the servers' clock, instead of after the pause
// that WithBackoff sets. With 0 it is delivered again at once, and keeps its position.
func WithPause(d time.Duration) NackOption {
	return when(d >= 0, func(o *nackOptions) { o.after, o.given = d, true }, "WithPause: %v is negative", d)
}

// WithError records why the item is returned: [Entry.LastError] shows it, also of a dead letter,
// with the time and this process. All of that has at most 1 kB, for which the text is cut; bytes
// that are no UTF-8 are replaced. Nack does not fail for it: if ZooKeeper refuses the larger item,
// the error is left out. nil is no error.
func WithError(err error) NackOption {
	return when(true, func(o *nackOptions) { o.err = err }, "")
}

// WithACL sets the ACL of the znodes that the queue creates, those above them included. Without it
// they get the session's. A znode that exists keeps its own.
func WithACL(acl ...session.ACL) Option {
	return func(o *options) error { return recipe.SetACL(&o.acl, acl) }
}
