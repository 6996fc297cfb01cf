package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
)

// use is a row of ls --kinds: the use of a path.
type use struct {
	Path    string `json:"path"`
	Kind    string `json:"kind"`
	Holder  string `json:"holder"`
	Waiting int    `json:"waiting"`
	Depth   int    `json:"depth"`
}

// survey searches for recipes below a path. It only reads.
type survey struct {
	s      *session.Session
	left   int // how many znodes may still be read
	unseen int // paths that were not read
	uses   []use
}

// kinds prints the uses of the paths from top on, and on standard error how many were not read.
// Paths that vanish meanwhile are left out.
func (a *app) kinds(ctx context.Context, s *session.Session, top string, limit int) error {
	v := &survey{s: s, left: limit}
	if _, _, err := s.Children(ctx, top); err != nil { // of a path below it that is no error
		return err
	}
	if _, err := v.visit(ctx, top); err != nil {
		return err
	}
	if v.unseen > 0 {
		fmt.Fprintf(a.log, "not looked at: at least %d paths (--limit, and --auth-file for those that may not be read)\n", v.unseen)
	}
	slices.SortStableFunc(v.uses, func(a, b use) int { return strings.Compare(a.Path, b.Path) })
	return list(a, v.uses)
}

// visit reads a path and the paths below it, and returns whether the path is ephemeral. The znodes
// below a recipe's path belong to the recipe, and are not visited.
func (v *survey) visit(ctx context.Context, path string) (ephemeral bool, err error) {
	if v.left--; v.left < 0 {
		v.unseen++
		return false, nil
	}
	names, stat, err := v.s.Children(ctx, path)
	if err != nil {
		return false, v.pass(err)
	}
	all := znode.NewContenders(names).Contenders
	has := func(name string) bool { return slices.Contains(names, name) }
	switch {
	case has("claims") && has("items"):
		return false, v.pass(v.queue(ctx, path))
	case has("tx") && has("coordinators"):
		return false, v.pass(v.transactions(ctx, path))
	case slices.ContainsFunc(names, isRound.MatchString):
		return false, v.pass(v.rounds(ctx, path))
	case len(all) > v.left:
		v.unseen += len(all)
	case len(all) > 0 && all[0].Kind == znode.Candidate:
		err = v.election(ctx, path)
	case len(all) > 0:
		err = v.lock(ctx, path, all[0].Kind)
	}
	if err = v.pass(err); err != nil {
		return false, err
	}
	v.left -= len(all)
	members := 0
	slices.Sort(names)
	for _, name := range names {
		if _, contends := znode.ParseContender(name); contends {
			continue
		}
		member, err := v.visit(ctx, znode.Join(path, name))
		if err != nil {
			return false, err
		}
		if member {
			members++
		}
	}
	if members > 0 {
		v.uses = append(v.uses, use{Path: path, Kind: "group", Depth: members})
	}
	return stat.EphemeralOwner != 0, nil
}

// pass is the error, unless it is of one path alone.
func (v *survey) pass(err error) error {
	if errors.Is(err, session.ErrNoAuth) {
		v.unseen++
	}
	return choose(errors.Is(err, session.ErrNoAuth) || errors.Is(err, session.ErrNoNode), nil, err)
}

func (v *survey) lock(ctx context.Context, path string, kind znode.Kind) error {
	var all []lock.Contender
	l, err := lock.New(v.s, path)
	if err == nil {
		all, err = l.Contenders(ctx)
	}
	var holders []string
	for _, c := range all {
		if c.Holding {
			holders = append(holders, cmp.Or(c.Owner.String(), cell(sessionID(c.SessionID))))
		}
	}
	name := map[znode.Kind]string{znode.Read: "shared lock", znode.Write: "shared lock", znode.Lease: "semaphore"}[kind]
	if len(all) > 0 {
		v.uses = append(v.uses, use{path, cmp.Or(name, "lock"), several(holders), len(all) - len(holders), len(all)})
	}
	return err
}

// several is the first of holders, and the number of the others.
func several(holders []string) string {
	if len(holders) > 1 {
		return fmt.Sprintf("%s and %d more", holders[0], len(holders)-1)
	}
	return strings.Join(holders, "")
}

func (v *survey) election(ctx context.Context, path string) error {
	var all []election.Candidate
	e, err := election.New(v.s, path)
	if err == nil {
		all, err = e.Candidates(ctx)
	}
	if len(all) > 0 {
		v.uses = append(v.uses, use{path, "election", all[0].Name, len(all) - 1, len(all)})
	}
	return err
}

func (v *survey) queue(ctx context.Context, path string) error {
	var all queue.Stats
	q, err := queue.New(v.s, path)
	if err == nil {
		all, err = q.Stats(ctx)
	}
	if err == nil {
		v.uses = append(v.uses, use{Path: path, Kind: "queue", Depth: all.Items})
	}
	return err
}

func (v *survey) rounds(ctx context.Context, path string) error {
	all, err := roundsAt(ctx, v.s, path)
	u := use{Path: path, Kind: "double barrier"}
	for _, r := range all {
		switch u.Depth = r.Parties; r.State {
		case "released":
			u.Holder = several(r.Present)
		case "open":
			u.Waiting = len(r.Present)
		}
	}
	if err == nil && len(all) > 0 {
		v.uses = append(v.uses, u)
	}
	return err
}

func (v *survey) transactions(ctx context.Context, path string) error {
	all, err := transactionsIn(ctx, v.s, path)
	for _, t := range all {
		waiting := 0 // for the votes of so many sites, or for them to acknowledge the outcome
		for _, site := range t.Sites {
			if vote, there := t.Votes[site]; t.Outcome != twopc.Undecided && there || t.Outcome == twopc.Undecided && vote == twopc.Undecided {
				waiting++
			}
		}
		v.uses = append(v.uses, use{znode.Join(path, t.ID), "transaction, " + t.Outcome.String(), "", waiting, len(t.Sites)})
	}
	return err
}
