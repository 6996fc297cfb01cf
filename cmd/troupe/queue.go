package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
)

func queues(a *app) *cobra.Command {
	peek := on(a, "peek PATH", "Show the item that would be taken next", queueAt, func(ctx context.Context, q *queue.Queue, _ []string) error {
		e, err := q.Peek(ctx)
		if err != nil {
			return err
		}
		return show(a, queueRowOf(e))
	})
	remove := on(a, "remove PATH ID...", "Delete items and dead letters", queueAt, func(ctx context.Context, q *queue.Queue, args []string) error {
		if err := a.confirm("delete %d items of %s", len(args)-1, args[0]); err != nil {
			return err
		}
		for _, id := range args[1:] {
			if err := q.Remove(ctx, id); err != nil {
				return fmt.Errorf("nothing was removed from %s on: %w", id, err)
			}
		}
		return nil
	})
	requeue := on(a, "requeue PATH ID...", "Put dead letters back", queueAt, func(ctx context.Context, q *queue.Queue, args []string) error {
		return q.Requeue(ctx, args[1:]...)
	})
	remove.Args, requeue.Args = cobra.MinimumNArgs(2), cobra.MinimumNArgs(2)
	return group("queue", "Queues",
		queueLs(a, "ls", "items"), queuePut(a), peek, queueLs(a, "dead", "dead letters"), requeue, a.destroys(remove), queuePurge(a))
}

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
	ID       string    `json:"id"`
	State    string    `json:"state"`
	Priority int       `json:"priority"`
	Attempts int       `json:"attempts"`
	Due      time.Time `json:"due,omitzero"`
	Data     content   `json:"data"`
}

func queueRowOf(e queue.Entry) queueRow {
	row := queueRow{e.ID, "waits", e.Priority, e.Attempts, e.Due.UTC(), e.Data}
	switch {
	case e.Unread:
		row.State = "unreadable"
	case e.Claimed:
		row.State = "claimed"
	case !e.Due.IsZero():
		row.State = "delayed"
	}
	return row
}

// queueLs lists items or dead letters, and says on standard error how many there are of both.
func queueLs(a *app, name, what string) *cobra.Command {
	var limit uint32
	cmd := a.command(name+" PATH", "List the first "+what+", and count all", func(ctx context.Context, s *session.Session, args []string) error {
		q, err := queueAt(ctx, s, args[0])
		if err != nil {
			return err
		}
		dead, _ := queue.New(s, znode.Join(args[0], "dead")) // valid, as its parent is
		items, err := q.Len(ctx)
		letters, errDead := dead.Len(ctx)
		if name == "dead" {
			q = dead
		}
		entries, errList := q.List(ctx, int(limit))
		if err = errors.Join(err, errDead, errList); err != nil {
			return err
		}
		var rows []queueRow
		for _, e := range entries {
			rows = append(rows, queueRowOf(e))
		}
		fmt.Fprintf(a.log, "%d items, %d dead letters; %d %s are listed\n", items, letters, len(rows), what)
		return list(a, rows)
	})
	cmd.Flags().Uint32Var(&limit, "limit", 100, "how many to list")
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
	cmd.Long = `Put an item, and print its id. "-" stands for all of standard input; only "" is an empty item.`
	cmd.Flags().BoolVar(&create, "create", false, "create the queue, with its parents, if it does not exist")
	cmd.Flags().IntVar(&priority, "priority", 0, "lower ones are taken first")
	cmd.Flags().DurationVar(&delay, "delay", 0, "nobody takes it before that")
	cmd.Flags().StringVar(&id, "id", "", "refused while another item has it (default a random one)")
	return cmd
}

func queuePurge(a *app) *cobra.Command {
	limit, dry := uint32(0), false
	cmd := on(a, "purge PATH", "Delete items, claimed ones too, but no dead letters", queueAt, func(ctx context.Context, q *queue.Queue, args []string) error {
		total, err := q.Len(ctx)
		n := min(total, int(limit)) // what is put meanwhile stays
		switch {
		case err != nil:
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
	return a.destroys(cmd)
}
