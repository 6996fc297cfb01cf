package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

func elections(a *app) *cobra.Command {
	return group("election", "Elections",
		electionShow(a),
		on(a, "watch PATH", "Follow the leader", free(a, electionAt), func(ctx context.Context, e electionHere, _ []string) error {
			return follow(ctx, a, e.recipe.Observe(ctx), witnessed(func(l election.Leadership) (rows []leader) {
				if l.Present {
					rows = append(rows, leader{l.Name, l.Token, time.Time{}, l.Ready, l.Stale, l.Data})
				}
				return rows
			}, func(l *leader) (string, *time.Time) { return fmt.Sprint(l.Token), &l.Held }))
		}),
		a.takes("election", "break", breakHelp, func(ctx context.Context, s *session.Session, _ *lock.Lock, c lock.Contender) (string, error) {
			return "broken", s.Delete(ctx, c.Path, -1)
		}),
		electionTransfer(a),
		electionRun(a),
	)
}

func electionShow(a *app) *cobra.Command {
	check := false
	cmd := on(a, "show PATH", "List the leader and the candidates, in order", free(a, electionAt), func(_ context.Context, e electionHere, args []string) error {
		var rows []candidate
		for _, c := range e.now {
			state := choose(c.Leading, "leads", "waits")
			rows = append(rows, candidate{c.Path, c.Name, state, c.Ready, owner(c.Owner), c.Token, sessionID(c.SessionID), c.Since.UTC(), c.Data})
		}
		return errors.Join(list(a, rows), nobody(args[0], nil, check && len(rows) == 0))
	})
	cmd.Flags().BoolVar(&check, "check", false, "exit status 1 if nobody leads")
	return cmd
}

func electionRun(a *app) *cobra.Command {
	var once bool
	cmd := a.runs("Run a command while this process leads",
		`Run a command once a term, while this process leads. After a loss it stands again, unless --once; when CMD ends by itself, that is the end.
CMD has the candidate's id in TROUPE_ELECTION_ID.`,
		func(ctx context.Context, s *session.Session, r *runner, path string) error {
			e, err := election.New(s, path, election.WithData([]byte(r.data)))
			if err != nil {
				return err
			}
			for {
				term, err := win(ctx, r, statusNotGot, choose(r.try, tryLead(e), e.Lead))
				if err != nil {
					return err
				}
				err = r.under(possession{term.Hold, path, nil, term.Resign}, "TROUPE_ELECTION_ID="+e.Name())
				if once || r.told != 0 || !errors.Is(err, session.ErrLost) {
					return err
				}
				if !a.to.quiet {
					fmt.Fprintf(a.log, "troupe: %s; standing again\n", explain(err))
				}
			}
		})
	cmd.Flags().BoolVar(&once, "once", false, "end after a loss")
	return cmd
}

// tryLead leads if there is no leader; otherwise the error is errLed.
func tryLead(e *election.Election) func(context.Context) (*election.Term, error) {
	return func(ctx context.Context) (*election.Term, error) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		standing := e.ObserveStatus(ctx)
		go func() { // ends with ctx
			for now := range standing {
				if now.State == election.Waiting {
					cancel(errLed)
				}
			}
		}()
		return e.Lead(ctx)
	}
}

// candidate is a row of election show.
type candidate struct {
	Path    string    `json:"path"`
	ID      string    `json:"id"`
	State   string    `json:"state"`
	Ready   bool      `json:"ready"`
	Owner   owner     `json:"owner"`
	Token   int64     `json:"token"`
	Session sessionID `json:"session"`
	Queued  time.Time `json:"queued,omitzero"`
	Data    content   `json:"data"`
}

// leader is the row of election watch.
type leader struct {
	ID    string    `json:"id"`
	Token int64     `json:"token"`
	Held  time.Time `json:"held,omitzero"`
	Ready bool      `json:"ready"`
	Stale bool      `json:"stale"`
	Data  content   `json:"data"`
}

type electionHere = here[*election.Election, []election.Candidate]

// electionAt is the election at a path that exists.
func electionAt(ctx context.Context, s *session.Session, path string) (e electionHere, err error) {
	if e.recipe, err = election.New(s, path); err == nil {
		_, err = contendersAt("election")(ctx, s, path)
	}
	if err == nil {
		e.now, err = e.recipe.Candidates(ctx)
	}
	return e, err
}

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
		leader, successor := fmt.Sprintf("%s (%s, token %d)", escaped(from.Name), from.Path, from.Token), fmt.Sprintf("%s (%s)", escaped(next.Name), next.Path)
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
	return a.withYes(cmd)
}

// candidatesTo are the candidates of an election, and the index of the one with an id or a path.
func candidatesTo(ctx context.Context, s *session.Session, path, to string) ([]election.Candidate, int, error) {
	e, err := electionAt(ctx, s, path)
	i := slices.IndexFunc(e.now, func(c election.Candidate) bool { return c.Path == to || c.Name == to && !c.Unread })
	if err == nil && i < 0 {
		err = failure{statusMissing, fmt.Errorf("%s has no candidate %q (troupe election show lists them)", path, to)}
	}
	return e.now, i, err
}

// transfer deletes a leader, from, and the candidates between it and another, to, as long as both
// exist. It lists again if one of them was gone, or the outcome is not known.
func transfer(ctx context.Context, s *session.Session, path, from, to string) error {
	for {
		all, at, err := candidatesTo(ctx, s, path, to)
		switch {
		case err != nil:
			return err
		case at == 0: // to leads: a transaction was carried out and its reply lost, or the others have left
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
