package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
)

func queues(a *app) *cobra.Command {
	peek := on(a, "peek PATH", "Show the item that would be taken next", free(a, queueAt), func(ctx context.Context, q *queue.Queue, _ []string) error {
		e, err := q.Peek(ctx)
		if err != nil {
			return err
		}
		return show(a, queueRowOf(a, e, true))
	})
	find := on(a, "show PATH ID", "Show an item or a dead letter, with its last error", queueAt, func(ctx context.Context, q *queue.Queue, args []string) error {
		e, err := q.Find(ctx, args[1])
		if err != nil {
			return byID(err)
		}
		return show(a, queueRowOf(a, e, true))
	})
	consumers := on(a, "consumers PATH", "List who consumes, and how many items each has in hand", free(a, queueAt), func(ctx context.Context, q *queue.Queue, _ []string) error {
		var rows []consumerRow
		all, err := q.Consumers(ctx)
		for _, c := range all {
			rows = append(rows, consumerRow{owner(c.Owner), sessionID(c.Session), c.InHand, c.Prefetch, c.Since})
		}
		if err != nil {
			return err
		}
		return list(a, rows)
	})
	remove := on(a, "remove PATH ID...", "Delete items and dead letters", queueAt, func(ctx context.Context, q *queue.Queue, args []string) error {
		if err := a.confirm("delete %d items of %s", len(args)-1, args[0]); err != nil {
			return err
		}
		for _, id := range args[1:] {
			if err := q.Remove(ctx, id); err != nil {
				return fmt.Errorf("nothing was removed from %s on: %w", id, byID(err))
			}
		}
		return nil
	})
	remove.Args = arguments(2, math.MaxInt)
	gate := func(use, short string, do func(*queue.Queue, context.Context) error) *cobra.Command {
		return on(a, use, short, queueAt, func(ctx context.Context, q *queue.Queue, _ []string) error { return do(q, ctx) })
	}
	return group("queue", "Queues", queueLs(a, "ls", "items"), find, consumers, queuePut(a), peek, queueStats(a), gate("pause PATH", "Stop the delivery of items in all processes, until resume; items can be put", (*queue.Queue).Pause),
		gate("resume PATH", "Deliver items again", (*queue.Queue).Resume), queueLs(a, "dead", "dead letters"), queueRequeue(a), a.withYes(remove), queuePurge(a))
}

// byID is the error of a request for an item by its id. The queue exists, so the id is wrong, not
// the path.
func byID(err error) error {
	return choose[error](errors.Is(err, session.ErrNoNode), idError{err}, err)
}

var errID = errors.New("no item has this id")

type idError struct{ error }

func (e idError) Unwrap() error   { return e.error }
func (idError) Is(err error) bool { return err == errID }

// queueAt is the queue at a path that exists.
func queueAt(ctx context.Context, s *session.Session, path string) (*queue.Queue, error) {
	q, err := queue.New(s, path)
	if err == nil {
		err = mustBe(ctx, s, path, "queue", "claims")
	}
	return q, err
}

// queueRow is a row of queue ls.
type queueRow struct {
	ID        string            `json:"id"`
	State     string            `json:"state"`
	Owner     owner             `json:"owner,omitzero"`
	Session   sessionID         `json:"session,omitzero" table:"full"`
	Token     claim             `json:"token,omitempty" table:"full"`
	Since     time.Time         `json:"since,omitzero"`
	Priority  int               `json:"priority"`
	Attempts  int               `json:"attempts"`
	Due       time.Time         `json:"due,omitzero"` // the next try
	LastError string            `json:"last_error,omitempty"`
	Failed    time.Time         `json:"failed,omitzero"`
	FailedBy  owner             `json:"failed_by,omitzero"`
	Headers   map[string]string `json:"headers,omitempty" table:"full"`
	Data      content           `json:"data"`
}

// queueRowOf is a row of a table, or, if full, everything about one item.
func queueRowOf(a *app, e queue.Entry, full bool) queueRow {
	f := e.LastError
	row := queueRow{e.ID, "waits", owner(e.Owner), sessionID(e.Session), claim(e.Token), e.Since, e.Priority, e.Attempts, e.Due, f.Error, f.Time, owner(f.By), e.Headers, e.Data}
	if !full && !a.json {
		row.LastError = fmt.Sprintf("%.60s", f.Error)
	}
	switch {
	case e.Unread:
		row.State = "unreadable"
	case e.Dead:
		row.State = "dead"
	case e.Claimed:
		row.State = "claimed"
	case e.Overdue:
		row.State = "overdue, no consumer has room"
	case !e.Due.IsZero():
		row.State = "delayed"
	}
	return row
}

type claim int64 // its token; 0: none

func (c claim) String() string { return fmt.Sprintf("%.0d", int64(c)) }

type statsRow struct {
	Items   int       `json:"items"`
	Waiting int       `json:"waiting"`
	Claimed int       `json:"claimed"`
	Delayed int       `json:"delayed"`
	Dead    int       `json:"dead"`
	Oldest  time.Time `json:"oldest,omitzero"`
	Paused  bool      `json:"paused"`
}

func queueStats(a *app) *cobra.Command {
	return a.command("stats PATH", "Count the items by their states, since when the oldest waits, and whether the queue is paused", func(ctx context.Context, s *session.Session, args []string) error {
		_, is, dead, err := counted(ctx, a, s, args[0])
		if err != nil {
			return err
		}
		return show(a, statsRow{is.Items, is.Waiting, is.Claimed, is.Delayed, dead.Items, is.Oldest, is.Paused})
	})
}

// counted is the queue at a path, with its items and its dead letters counted.
func counted(ctx context.Context, a *app, s *session.Session, path string) (q *queue.Queue, items, dead queue.Stats, err error) {
	if q, err = free(a, queueAt)(ctx, s, path); err != nil {
		return q, items, dead, err
	}
	items, err = q.Stats(ctx)
	dead, errDead := deadLetters(s, path).Stats(ctx)
	return q, items, dead, errors.Join(err, errDead)
}

// consumerRow is a row of queue consumers.
type consumerRow struct {
	Owner    owner     `json:"owner,omitzero"`
	Session  sessionID `json:"session"`
	InHand   int       `json:"in_hand"`
	Prefetch int       `json:"prefetch"`
	Since    time.Time `json:"since,omitzero"`
}

// deadLetters are those of the queue at a valid path.
func deadLetters(s *session.Session, path string) *queue.Queue {
	dead, _ := queue.New(s, znode.Join(path, "dead"))
	return dead
}

// olderThan are the first items that are of this age or older.
func olderThan(ctx context.Context, q *queue.Queue, age time.Duration, limit int) ([]queue.Entry, error) {
	if age < 0 {
		return nil, usage{fmt.Errorf("--older-than %v: negative", age)}
	}
	all, err := q.List(ctx, choose(age == 0, limit, math.MaxInt32))
	all = slices.DeleteFunc(all, func(e queue.Entry) bool { return age > 0 && time.Since(e.Since) < age })
	return all[:min(len(all), limit)], err
}

// queueLs lists items or dead letters, and says on standard error how many there are of both.
func queueLs(a *app, name, what string) *cobra.Command {
	limit, older := uint32(0), time.Duration(0)
	cmd := a.command(name+" PATH", "List the first "+what+", and count all", func(ctx context.Context, s *session.Session, args []string) error {
		q, items, letters, err := counted(ctx, a, s, args[0])
		if err != nil {
			return err
		}
		if name == "dead" {
			q = deadLetters(s, args[0])
		}
		entries, err := olderThan(ctx, q, older, int(limit))
		if err != nil {
			return err
		}
		var rows []queueRow
		for _, e := range entries {
			e.Dead = name == "dead" && !e.Claimed && e.Due.IsZero() // else it is in use as an item of its own queue
			rows = append(rows, queueRowOf(a, e, false))
		}
		fmt.Fprintf(a.log, "%d items, %d dead letters; %d %s are listed%s\n", items.Items, letters.Items, len(rows), what, choose(items.Paused, "; the queue is paused", ""))
		return list(a, rows)
	})
	cmd.Flags().Uint32Var(&limit, "limit", 100, "how many to list")
	if name == "dead" {
		cmd.Flags().DurationVar(&older, "older-than", 0, "those that have been dead for so long")
	}
	return cmd
}

func queueRequeue(a *app) *cobra.Command {
	all, older := false, time.Duration(0)
	cmd := a.command("requeue PATH [ID...]", "Put dead letters back", func(ctx context.Context, s *session.Session, args []string) error {
		q, err := queueAt(ctx, s, args[0])
		ids := args[1:]
		if err == nil && len(ids) == 0 {
			var letters []queue.Entry
			letters, err = olderThan(ctx, deadLetters(s, args[0]), older, math.MaxInt32)
			for _, e := range letters {
				ids = append(ids, e.ID)
			}
		}
		if err != nil {
			return err
		}
		var errs []error
		// An error of one item, which stays or has gone, keeps none of the others.
		for n := 0; n < len(ids) && (err == nil || errors.Is(err, queue.ErrDuplicate) || errors.Is(err, session.ErrNoNode) || errors.Is(err, session.ErrUnsupported)); n++ {
			if err = q.Requeue(ctx, ids[n]); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", escaped(ids[n]), byID(err)))
			}
		}
		return errors.Join(errs...)
	})
	cmd.Flags().BoolVar(&all, "all", false, "all that are dead when it begins")
	cmd.Flags().DurationVar(&older, "older-than", 0, "those that have been dead for so long")
	cmd.MarkFlagsMutuallyExclusive("all", "older-than")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 && !all && older == 0 || len(args) > 1 && (all || older != 0) {
			return errors.New("which: IDs, --all or --older-than")
		}
		return arguments(1, math.MaxInt)(cmd, args)
	}
	return cmd
}

func queuePut(a *app) *cobra.Command {
	priority, delay, id, create := 0, time.Duration(0), "", false
	cmd := a.command("put PATH DATA", "Put an item, and print its id", func(ctx context.Context, s *session.Session, args []string) error {
		opts := []queue.PutOption{queue.WithPriority(priority), queue.WithDelay(delay)}
		if id != "" {
			opts = append(opts, queue.WithID(id))
		}
		q, err := queueAt(ctx, s, args[0])
		switch missing := errors.Is(err, session.ErrNoNode); {
		case missing && create: // the first item makes the queue
			err = nil
		case missing:
			err = isNew(err)
		}
		var data []byte
		if err == nil {
			data, err = a.data(args[1])
		}
		if err == nil {
			id, err = q.Put(ctx, data, opts...)
		}
		switch {
		case err != nil:
		case a.json:
			err = asJSON(a.out, map[string]string{"id": id}, "  ")
		default:
			fmt.Fprintln(a.out, escaped(id))
		}
		return err
	})
	cmd.Long = `Put an item, and print its id. "-" stands for all of standard input; only "" is an empty item. "$DATA" is "" where DATA is not set: write "${DATA:?}".`
	cmd.Flags().BoolVar(&create, "create", false, "create the queue, with its parents, if it does not exist")
	cmd.Flags().IntVar(&priority, "priority", 0, "lower ones are taken first")
	cmd.Flags().DurationVar(&delay, "delay", 0, "nobody takes it before that")
	cmd.Flags().StringVar(&id, "id", "", "refused while another item has it (default a random one)")
	return cmd
}

func queuePurge(a *app) *cobra.Command {
	limit, dry := uint32(0), false
	cmd := on(a, "purge PATH", "Delete items, claimed ones too, but no dead letters", queueAt, func(ctx context.Context, q *queue.Queue, args []string) error {
		all, err := q.Stats(ctx)
		total := all.Items
		n := min(total, int(limit)) // items that are put meanwhile stay
		switch {
		case err != nil:
		case dry && a.json:
			err = asJSON(a.out, map[string]int{"would_delete": n, "items": total}, "  ")
		case dry:
			_, err = fmt.Fprintf(a.out, "would delete %d of %d items\n", n, total)
		default:
			err = a.confirm("delete %d of %d items of %s", n, total, args[0])
			done := 0
			for part := 1; part > 0 && err == nil && done < n; {
				part, err = q.Purge(ctx, min(1000, n-done))
				done += part
				fmt.Fprintln(a.log, "deleted", done)
			}
		}
		return err
	})
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only say how many it would delete")
	cmd.Flags().Uint32Var(&limit, "limit", 1_000_000, "how many at most")
	return a.withYes(cmd)
}
