package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

func locks(a *app) *cobra.Command {
	return group("lock", "Locks, shared locks and semaphores",
		on(a, "ls PATH", "List the holders and who waits, in order", free(a, contendersAt("lock")), func(_ context.Context, l lockHere, args []string) error {
			return list(a, append(l.delayed(args[0]), rowsOf(l.now)...))
		}),
		lockShow(a),
		on(a, "watch PATH", "Follow the holders and who waits", free(a, contendersAt("lock")), func(ctx context.Context, l lockHere, _ []string) error {
			return follow(ctx, a, l.recipe.Observe(ctx), witnessed(func(v lock.View) []contender { return rowsOf(v.Contenders) }, func(c *contender) (string, *time.Time) {
				return choose(c.State.word == "holds", c.Path, ""), &c.Held
			}))
		}),
		a.takes("lock", "break", breakHelp, func(ctx context.Context, _ *session.Session, l *lock.Lock, c lock.Contender) (string, error) {
			err := l.Revoke(ctx, c) // an error if it has gone by now
			if err == nil {
				err = l.Break(ctx, c, 0)
			}
			return "broken", err
		}),
		lockRevoke(a),
		lockRun(a),
	)
}

func lockShow(a *app) *cobra.Command {
	check := false
	cmd := on(a, "show PATH", "Show the holders, or a contender by its path", free(a, contendersOf("lock")), func(_ context.Context, l lockHere, args []string) error {
		shown := slices.DeleteFunc(l.now, func(c lock.Contender) bool {
			first := c.Holding || unknown(c) || c.Delayed.Token != 0
			return !(c.Path == args[0] || path.Dir(c.Path) == args[0] && first)
		})
		held := slices.ContainsFunc(shown, func(c lock.Contender) bool { return c.Holding })
		return errors.Join(list(a, append(l.delayed(args[0]), rowsOf(shown)...)), nobody(args[0], shown, check && !held))
	})
	cmd.Flags().BoolVar(&check, "check", false, "exit status 1 if nobody holds it")
	return cmd
}

// unknown reports whether a contender may hold: it is of a semaphore, and can't be read.
func unknown(c lock.Contender) bool {
	name, _ := znode.ParseContender(path.Base(c.Path))
	return c.Unread && name.Marks()
}

// nobody returns the error of a path without a known holder; nil unless nobodyHolds.
func nobody(path string, all []lock.Contender, nobodyHolds bool) error {
	switch {
	case !nobodyHolds:
		return nil
	case slices.ContainsFunc(all, unknown):
		return fmt.Errorf("who holds %s is not known: %w", path, session.ErrNoAuth)
	}
	return fmt.Errorf("nobody holds %s", path)
}

const breakHelp = "Delete the holder's znode, or a contender's: it may be at work still, see its token"

// takes is a command that takes a lock, or a place in its queue, away from the contender at PATH or
// the only holder there. It asks first, and prints the word of do ("broken") and the contender.
func (a *app) takes(recipe, name, short string, do func(ctx context.Context, s *session.Session, l *lock.Lock, c lock.Contender) (done string, err error)) *cobra.Command {
	return a.withYes(a.command(name+" PATH", short, func(ctx context.Context, s *session.Session, args []string) error {
		l, at, err := find(ctx, s, args[0], recipe)
		if err != nil {
			return err
		}
		all := l.now
		c := rowsOf(all)[at]
		if c.Path != args[0] && slices.ContainsFunc(all[at+1:], func(o lock.Contender) bool { return o.Holding }) {
			return fmt.Errorf("%s has several holders: name one by its path (troupe lock ls shows them)", args[0])
		}
		if recipe == "election" {
			e, _ := electionAt(ctx, s, path.Dir(c.Path)) // empty if all have gone meanwhile
			for _, one := range e.now {
				if one.Path == c.Path { // its data are in an envelope
					c.Owner, c.Data = owner(one.Owner), one.Data
				}
			}
		}
		queued := "-"
		if since := all[at].Since; !since.IsZero() {
			queued = since.Format(time.RFC3339)
		}
		what := fmt.Sprintf("%s, owner %s, session %v, queued %s, token %d, data %s",
			escaped(c.Path), cell(c.Owner), c.Session, queued, c.Token, cmp.Or(plain(string(c.Data)), "-"))
		if err := a.confirm("%s %s", name, what); err != nil {
			return err
		}
		done, err := do(ctx, s, l.recipe, all[at])
		switch {
		case err != nil:
		case a.json:
			err = asJSON(a.out, c, "  ")
		default:
			fmt.Fprintf(a.out, "%s: %s\n", done, what)
		}
		return err
	}))
}

func lockRevoke(a *app) *cobra.Command {
	wait, timeout := false, time.Duration(0)
	const short = "Ask the holder, or a contender, to let go: lock run ends its command then"
	cmd := a.takes("lock", "revoke", short, func(ctx context.Context, _ *session.Session, l *lock.Lock, c lock.Contender) (string, error) {
		err := l.Revoke(ctx, c)
		if err != nil || !wait && timeout == 0 {
			return "revoked", err
		}
		errTimeout := timeoutError{fmt.Errorf("revoked, but it has not let go within %v", timeout)}
		ctx, cancel := context.WithTimeoutCause(ctx, cmp.Or(timeout, math.MaxInt64), errTimeout)
		defer cancel()
		err = l.Break(ctx, c, math.MaxInt64) // with this grace it only waits
		if failed, ok := errors.AsType[*session.OpError](err); ok && failed.Op == "break" {
			failed.Op = "revoke"
		}
		return "released", choose[error](errors.Is(err, errTimeout), failure{statusNotGot, err}, err)
	})
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until it has let go")
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "--wait, but for no longer than this; then the exit status is 124")
	return cmd
}

func lockRun(a *app) *cobra.Command {
	var shared bool
	var delay time.Duration
	var permits int
	var conflictStatus uint8
	cmd := a.runs("Run a command while a lock is held",
		"Run a command while a lock is held: an exclusive one, with --shared the read side of a shared one, with -n a permit of a semaphore.",
		func(ctx context.Context, s *session.Session, r *runner, path string) error {
			opts := []lock.Option{lock.WithData([]byte(r.data)), lock.WithHeldWarning(0)}
			var l *lock.Lock
			var err error
			switch {
			case shared:
				l, err = lock.NewRead(s, path, opts...)
			case permits > 0:
				l, err = lock.NewSemaphore(s, path, permits, opts...)
			default:
				l, err = lock.New(s, path, append(opts, lock.WithDelay(delay))...)
			}
			if err != nil {
				return err
			}
			g, err := win(ctx, r, int(conflictStatus), choose(r.try, l.TryLock, l.Lock))
			if err != nil {
				return err
			}
			return r.under(possession{g.Hold, path, g.Revoked(), g.Release})
		})
	flags := cmd.Flags()
	flags.BoolVar(&shared, "shared", false, "hold together with others that are --shared")
	flags.IntVarP(&permits, "permits", "n", 0, "hold one of so many permits of a semaphore")
	flags.DurationVar(&delay, "delay", 0, "wait for so long after a holder that died or lost the lock; all users of the path should")
	flags.Uint8VarP(&conflictStatus, "conflict-exit-code", "E", statusNotGot, "exit status if the lock is not got")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		for _, not := range [][2]string{{"permits", "shared"}, {"delay", "shared"}, {"delay", "permits"}} {
			if flags.Changed(not[0]) && flags.Changed(not[1]) {
				return failure{statusOurs, fmt.Errorf("--%s and --%s: only one of them", not[0], not[1])}
			}
		}
		if flags.Changed("permits") && permits <= 0 {
			return failure{statusOurs, errors.New("--permits: must be positive")}
		}
		return nil
	}
	return cmd
}

// contender is a row of lock ls.
type contender struct {
	Path    string    `json:"path"`
	State   state     `json:"state"`
	Owner   owner     `json:"owner"`
	Token   int64     `json:"token"`
	Session sessionID `json:"session"`
	Queued  time.Time `json:"queued,omitzero"`
	Held    time.Time `json:"held,omitzero"`
	Revoked bool      `json:"revoked"`
	Data    content   `json:"data"`
	Delay   *delay    `json:"delay,omitempty" table:"-"` // in a table the state says it
}

// delay is the time that a contender waits after a holder that died.
type delay struct {
	Until time.Time `json:"until,omitzero"` // unknown while no contender waits
	After owner     `json:"after"`
	Token int64     `json:"token"`
}

func delayOf(d lock.Delay) *delay {
	if d.Token == 0 {
		return nil
	}
	return &delay{d.Until.UTC(), owner(d.Owner), d.Token}
}

// state is holds, waits, delayed or unreadable; a table shows the delay too.
type state struct {
	word string
	*delay
}

func (s state) String() string {
	if s.delay == nil {
		return s.word
	}
	after := cmp.Or(s.After.String(), fmt.Sprintf("the holder with token %d", s.delay.Token))
	if s.Until.IsZero() {
		return "delayed from when somebody waits, after " + after
	}
	return "delayed until " + stamp(s.Until) + ", after " + after
}

// MarshalText implements [encoding.TextMarshaler].
func (s state) MarshalText() ([]byte, error) { return []byte(s.word), nil } //nolint:unparam // the interface has it

type lockHere struct {
	here[*lock.Lock, []lock.Contender]
	delay lock.Delay // of a queue without contenders; with some, it is theirs
}

// delayed returns the row of a delay that no contender waits for yet; none if there is no delay.
func (l lockHere) delayed(at string) (rows []contender) {
	if d := delayOf(l.delay); d != nil {
		rows = append(rows, contender{Path: znode.Join(at, znode.HeldRecord), State: state{"delayed", d}, Owner: d.After, Token: d.Token, Delay: d})
	}
	return rows
}

// contendersAt returns a function that opens the queue at a path, of an existing lock or election.
func contendersAt(recipe string) func(context.Context, *session.Session, string) (lockHere, error) {
	return func(ctx context.Context, s *session.Session, at string) (l lockHere, err error) {
		if l.recipe, err = lock.New(s, at); err == nil {
			l.now, err = l.recipe.Contenders(ctx)
		}
		for _, c := range l.now {
			if name, _ := znode.ParseContender(path.Base(c.Path)); (name.Kind == znode.Candidate) != (recipe == "election") {
				return l, fmt.Errorf("%s is no %s: its contenders are of the kind %q (troupe tree shows them)", at, recipe, name.Kind.String())
			}
		}
		if err == nil && len(l.now) == 0 && recipe == "lock" {
			l.delay, err = l.recipe.Delay(ctx)
		}
		if err == nil && len(l.now) == 0 && l.delay.Token == 0 {
			err = mustBe(ctx, s, at, recipe)
		}
		return l, err
	}
}

// contendersOf is contendersAt for a path that may also be a contender's: that opens its queue.
func contendersOf(recipe string) func(context.Context, *session.Session, string) (lockHere, error) {
	return func(ctx context.Context, s *session.Session, at string) (lockHere, error) {
		if _, isContender := znode.ParseContender(path.Base(at)); !isContender {
			return contendersAt(recipe)(ctx, s, at)
		}
		l, err := contendersAt(recipe)(ctx, s, path.Dir(at))
		if err == nil && !slices.ContainsFunc(l.now, func(c lock.Contender) bool { return c.Path == at }) {
			err = &session.OpError{Op: "find", Path: at, Err: session.ErrNoNode}
		}
		return l, err
	}
}

// find opens the queue at a path, or the queue of the contender at it, and returns with it the
// index of that contender, or of the first holder.
func find(ctx context.Context, s *session.Session, at, recipe string) (lockHere, int, error) {
	l, err := contendersOf(recipe)(ctx, s, at)
	i := slices.IndexFunc(l.now, func(c lock.Contender) bool { return c.Path == at || c.Holding && path.Dir(c.Path) == at })
	return l, i, cmp.Or(err, nobody(at, l.now, i < 0))
}

func rowsOf(all []lock.Contender) (rows []contender) {
	for _, c := range all {
		d := delayOf(c.Delayed)
		row := contender{c.Path, state{"waits", d}, owner(c.Owner), c.Token, sessionID(c.SessionID), c.Since.UTC(), c.Held.UTC(), c.Revoked, c.Data, d}
		switch {
		case c.Unread:
			row.State.word = "unreadable"
		case c.Holding:
			row.State.word = "holds"
		case d != nil:
			row.State.word = "delayed"
		}
		rows = append(rows, row)
	}
	return rows
}

// mustBe refuses a path that does not exist, or that has children, but none with one of names.
func mustBe(ctx context.Context, s *session.Session, path, recipe string, names ...string) error {
	children, _, err := s.Children(ctx, path)
	if err == nil && len(children) > 0 && !slices.ContainsFunc(names, func(name string) bool { return slices.Contains(children, name) }) {
		err = fmt.Errorf("%s is no %s: its children are others, such as %q (troupe tree shows them)", path, recipe, slices.Min(children))
	}
	return err
}
