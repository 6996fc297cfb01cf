package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipes/barrier"
	members "github.com/troupe-go/troupe/recipes/group"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
)

func groups(a *app) *cobra.Command {
	return group("group", "Groups of members",
		on(a, "ls PATH", "List the members", free(a, groupAt), func(_ context.Context, g groupHere, _ []string) error { return list(a, memberRows(g.now)) }),
		on(a, "watch PATH", "Follow the members", free(a, groupAt), func(ctx context.Context, g groupHere, _ []string) error {
			return follow(ctx, a, g.recipe.Observe(ctx), memberRows)
		}))
}

// memberRow is a row of group ls.
type memberRow struct {
	ID         string    `json:"id"`
	Unreadable bool      `json:"unreadable"`
	Token      int64     `json:"token"`
	Session    sessionID `json:"session"`
	Joined     time.Time `json:"joined,omitzero"`
	Data       content   `json:"data"`
}

func memberRows(v members.View) (rows []memberRow) {
	for _, m := range v.Members {
		rows = append(rows, memberRow{m.Name, m.Unread, m.Token, sessionID(m.SessionID), m.Since.UTC(), m.Data})
	}
	return rows
}

type groupHere = here[*members.Group, members.View]

// groupAt is the group at a path that exists. Contenders are ephemeral like members, but are none.
func groupAt(ctx context.Context, s *session.Session, path string) (g groupHere, err error) {
	if g.recipe, err = members.New(s, path); err == nil {
		g.now, err = g.recipe.Members(ctx)
	}
	contends := func(m members.Member) bool { _, is := znode.ParseContender(m.Name); return is }
	if err == nil && (len(g.now.Members) == 0 || slices.ContainsFunc(g.now.Members, contends)) {
		err = mustBe(ctx, s, path, "group")
	}
	return g, err
}

func barriers(a *app) *cobra.Command {
	return group("barrier", "Barriers",
		barrierShow(a),
		a.withYes(barrierBreak(a)),
		on(a, "raise PATH", "Raise a barrier, so that processes wait for it", barrierAt, func(ctx context.Context, b barrierHere, _ []string) error {
			return b.recipe.Raise(ctx)
		}),
		a.withYes(on(a, "lower PATH", "Lower it: the znode is deleted", barrierAt, func(ctx context.Context, b barrierHere, args []string) error {
			if b.now.State == "lowered" {
				return &session.OpError{Op: "lower", Path: args[0], Err: session.ErrNoNode}
			}
			if err := a.confirm(`delete %s, raised %s, with the data "%s"`, args[0], moment(b.now.Raised), plain(string(b.now.Data))); err != nil {
				return err
			}
			return b.recipe.Lower(ctx)
		})))
}

// barrierRow is the state of a barrier: "raised" or "lowered".
type barrierRow struct {
	State  string    `json:"state"`
	Raised time.Time `json:"raised,omitzero"`
	Data   content   `json:"data"`
}

type barrierHere = here[*barrier.Barrier, barrierRow]

func barrierAt(ctx context.Context, s *session.Session, path string) (b barrierHere, err error) {
	if b.recipe, err = barrier.New(s, path); err != nil {
		return b, err
	}
	data, stat, err := s.Get(ctx, path)
	if b.now = (barrierRow{"raised", stat.Ctime.UTC(), data}); err == nil {
		err = mustBe(ctx, s, path, "barrier to raise and lower")
	}
	if errors.Is(err, session.ErrNoNode) {
		b.now, err = barrierRow{State: "lowered"}, nil
	}
	return b, err
}

func transactions(a *app) *cobra.Command {
	return group("tx", "Two-phase commit",
		on(a, "ls PATH", "List the transactions that somebody has not acknowledged", free(a, transactionsAt),
			func(_ context.Context, rows []transactionRow, _ []string) error { return list(a, rows) }),
		on(a, "show PATH ID", "Show one, with the vote of each site", transactionsAt, func(_ context.Context, rows []transactionRow, args []string) error {
			i := slices.IndexFunc(rows, func(row transactionRow) bool { return row.ID == args[1] })
			if i < 0 {
				return failure{statusMissing, fmt.Errorf("%s has no transaction %q (troupe tx ls shows them)", args[0], args[1])}
			}
			return show(a, rows[i])
		}))
}

// transactionRow is a row of tx ls.
type transactionRow struct {
	ID      string    `json:"id"`
	Outcome string    `json:"outcome"`
	Began   time.Time `json:"began,omitzero"`
	Reason  string    `json:"reason"`
	Sites   []vote    `json:"sites"`
}

// vote is the state of a site.
type vote struct {
	Site string `json:"site"`
	Vote string `json:"vote"`
}

func (v vote) String() string { return v.Site + ":" + v.Vote }

func transactionsIn(ctx context.Context, s *session.Session, path string) ([]twopc.Entry, error) {
	c, err := twopc.NewCoordinator(s, path)
	if err != nil {
		return nil, err
	}
	return c.List(ctx)
}

// transactionsAt are those at a path that exists.
func transactionsAt(ctx context.Context, s *session.Session, path string) (rows []transactionRow, err error) {
	all, err := transactionsIn(ctx, s, path)
	if errors.Is(err, session.ErrNoNode) || err == nil && len(all) == 0 {
		err = mustBe(ctx, s, path, "path of transactions", "tx", "coordinators", "alive")
	}
	for _, i := range all {
		row := transactionRow{ID: i.ID, Outcome: i.Outcome.String(), Began: i.Since.UTC(), Reason: i.Reason, Sites: []vote{}}
		for _, site := range i.Sites {
			v, there := i.Votes[site]
			word := map[twopc.Outcome]string{twopc.Committed: "commit", twopc.Aborted: "abort", twopc.Undecided: "none"}[v]
			if !there && i.Outcome != twopc.Undecided {
				word = "acknowledged"
			}
			row.Sites = append(row.Sites, vote{site, word})
		}
		rows = append(rows, row)
	}
	return rows, err
}
