package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
)

func electionTransfer(a *app) *cobra.Command {
	cmd := a.command("transfer PATH TO", "Make a candidate the leader", func(ctx context.Context, s *session.Session, args []string) error {
		all, to, err := candidatesTo(ctx, s, args[0], args[1])
		if err == nil && to == 0 {
			err = fmt.Errorf("%s leads %s already", args[1], args[0])
		}
		if err != nil {
			return err
		}
		from, next := all[0], all[to]
		leader, successor := fmt.Sprintf("%s (%s, token %d)", escaped(from.ID), from.Path, from.Token), fmt.Sprintf("%s (%s)", escaped(next.ID), next.Path)
		if err := a.confirm("transfer %s from %s, which may be at work still, to %s, deleting %d candidates", args[0], leader, successor, to); err != nil {
			return err
		}
		if err := transfer(ctx, s, args[0], from.Path, next.Path); err != nil {
			return err
		}
		if a.json {
			return asJSON(a.out, map[string]string{"from": from.Path, "to": next.Path}, "  ")
		}
		_, err = fmt.Fprintf(a.out, "transferred: %s from %s to %s\n", args[0], leader, successor)
		return err
	})
	cmd.Long = `Make a candidate, TO, the leader: it is named by its id or its path. One transaction checks that it stands, and deletes the leader's znode and those of
all between. Those that wait queue again, behind the others, and so does a leader that campaigns, as election run does. Candidates of other libraries
may not.

The leader may be at work still while the next one is: see its token. Term.TransferTo, in the leader's own program, has no such overlap.`
	return a.destroys(cmd)
}

// candidatesTo are the candidates of an election, and the index of the one with an id or a path.
func candidatesTo(ctx context.Context, s *session.Session, path, to string) ([]election.Candidate, int, error) {
	e, err := electionAt(ctx, s, path)
	i := slices.IndexFunc(e.now, func(c election.Candidate) bool { return c.Path == to || c.ID == to && !c.Unread })
	if err == nil && i < 0 {
		err = failure{statusMissing, fmt.Errorf("%s has no candidate %q (troupe election show lists them)", path, to)}
	}
	return e.now, i, err
}

// transfer deletes a leader and the candidates between it and another, as long as both exist.
func transfer(ctx context.Context, s *session.Session, path, from, to string) error {
	for {
		all, at, err := candidatesTo(ctx, s, path, to)
		switch {
		case err != nil:
			return err
		case at == 0: // a transaction was carried out, and its reply lost, or the others have left
			return nil
		case all[0].Path != from:
			return fmt.Errorf("%s no longer leads: %w", from, session.ErrBadVersion)
		}
		ops := []session.Op{session.CheckOp(to, -1)}
		for _, c := range all[:at] {
			ops = append(ops, session.DeleteOp(c.Path, -1))
		}
		_, err = s.Multi(ctx, ops...)
		if err == nil || ctx.Err() != nil || !errors.Is(err, session.ErrNoNode) && !errors.Is(err, session.ErrUnknownOutcome) {
			return err
		}
	}
}
