package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
)

func elections(a *app) *cobra.Command {
	return group("election", "Elections",
		electionShow(a),
		on(a, "watch PATH", "Follow the leader", free(a, electionAt), func(ctx context.Context, e electionHere, _ []string) error {
			return follow(ctx, a, e.recipe.Observe(ctx), witnessed(func(l election.Leadership) (rows []leader) {
				if l.Present {
					rows = append(rows, leader{l.ID, l.Token, time.Time{}, l.Ready, l.Stale, l.Data})
				}
				return rows
			}, func(l *leader) (string, *time.Time) { return fmt.Sprint(l.Token), &l.Held }))
		}),
		a.takes("election", "break", deletes, func(ctx context.Context, s *session.Session, path string) (string, error) {
			return "broken", s.Delete(ctx, path, -1)
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
			state := map[bool]string{true: "leads", false: "waits"}[c.Leading]
			rows = append(rows, candidate{c.Path, c.ID, state, c.Ready, owner(c.Owner), c.Token, sessionID(c.SessionID), c.Since.UTC(), c.Data})
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
				term, err := win(ctx, r, statusNotGot, map[bool]func(context.Context) (*election.Term, error){false: e.Lead, true: tryLead(e)}[r.try])
				if err != nil {
					return err
				}
				err = r.under(possession{term.Hold, path, nil, term.Resign}, "TROUPE_ELECTION_ID="+e.ID())
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
		standing := e.Standing(ctx)
		go func() { // ends with ctx
			for now := range standing {
				if now.Phase == election.Waiting {
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
