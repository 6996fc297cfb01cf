package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/session"
)

// round is a row of barrier show, for a double barrier: see docs/recipes/double-barrier.md.
type round struct {
	Name     string   `json:"round"`
	State    string   `json:"state"` // open; released: its parties are in; broken
	Parties  int      `json:"parties"`
	Present  []string `json:"present"`
	Departed []string `json:"departed"`
	Absent   int      `json:"absent"`
	Missing  []string `json:"missing"` // the ids of absent parties, as far as they are known
}

var (
	isRound = regexp.MustCompile(`^round-\d{10,}$`)
	isParty = regexp.MustCompile(`^_c_[0-9a-f-]{36}-party-\d+-(.+)$`)
)

// parties are the ids in names of parties' znodes; other names are skipped.
func parties(names []string) []string {
	ids := []string{}
	for _, name := range names {
		if m := isParty.FindStringSubmatch(name); m != nil {
			ids = append(ids, m[1])
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// roundsAt are the rounds at a path, in order: usually the next one, and before it one that is not
// over. A path that is no double barrier has none.
func roundsAt(ctx context.Context, s *session.Session, path string) (rounds []round, err error) {
	if err := s.Sync(ctx, path); err != nil {
		return nil, err
	}
	names, _, err := s.Children(ctx, path)
	names = slices.DeleteFunc(names, func(name string) bool { return !isRound.MatchString(name) })
	slices.Sort(names)
	before := []string{} // the parties of the round before
	for _, name := range names {
		at := znode.Join(path, name)
		data, _, err := s.Get(ctx, at)
		here, _, errHere := s.Children(ctx, at)
		out, _, errOut := s.Children(ctx, at+"/out")
		if err = errors.Join(err, errHere, errOut); errors.Is(err, session.ErrNoNode) {
			continue // it is over
		} else if err != nil {
			return nil, err
		}
		r := round{Name: name, Present: parties(here), Departed: parties(out)}
		head, rest, _ := strings.Cut(string(data), "\n")
		if n, _ := fmt.Sscanf(head, "%s %d", &r.State, &r.Parties); n < 2 {
			r.State = "unreadable"
		}
		if r.State == "released" {
			before = parties(strings.Split(rest, "\n"))
		}
		r.Missing = slices.DeleteFunc(slices.Clone(before), func(id string) bool {
			return slices.Contains(r.Present, id) || slices.Contains(r.Departed, id)
		})
		r.Absent = choose(r.State == "released", len(r.Missing), max(0, r.Parties-len(r.Present)))
		r.Present = slices.DeleteFunc(r.Present, func(id string) bool { return slices.Contains(r.Departed, id) })
		rounds = append(rounds, r)
	}
	return rounds, err
}

func barrierShow(a *app) *cobra.Command {
	cmd := a.command("show PATH", "Tell whether a barrier is raised, or who is in a double barrier", func(ctx context.Context, s *session.Session, args []string) error {
		if rounds, err := roundsAt(ctx, s, args[0]); err == nil && len(rounds) > 0 {
			return list(a, rounds)
		}
		b, err := barrierAt(ctx, s, args[0])
		if err != nil {
			return err
		}
		return show(a, b.now)
	})
	cmd.Long = `Tell whether a barrier is raised. Of a double barrier, list the rounds: who waits in an open one, or is inside a released one, who has departed, and how
many are absent. Missing are those of them that are known: parties of a released round whose sessions have ended, and parties of the round before
an open one, if that is not over, that have not arrived again.`
	return cmd
}

// waitedIn is the round at a path in which a party waits.
func waitedIn(ctx context.Context, s *session.Session, path string) (round, error) {
	rounds, err := roundsAt(ctx, s, path)
	if err == nil && (len(rounds) == 0 || rounds[len(rounds)-1].State != "open" || len(rounds[len(rounds)-1].Present) == 0) {
		err = fmt.Errorf("%s has no round in which a party waits (troupe barrier show tells)", path)
	}
	return append([]round{{}}, rounds...)[len(rounds)], err
}

func barrierBreak(a *app) *cobra.Command {
	cmd := a.command("break PATH", "Break the round of a double barrier", func(ctx context.Context, s *session.Session, args []string) error {
		last, err := waitedIn(ctx, s, args[0])
		if err != nil {
			return err
		}
		what := fmt.Sprintf("%s of %s, in which %d of %d parties wait: %s", last.Name, args[0], len(last.Present), last.Parties, escaped(strings.Join(last.Present, ", ")))
		if err := a.confirm("break %s", what); err != nil {
			return err
		}
		if now, err := waitedIn(ctx, s, args[0]); err != nil || now.Name != last.Name { // Break takes the present round
			return cmp.Or(err, fmt.Errorf("%s is over: %w", last.Name, session.ErrBadVersion))
		}
		d, err := barrier.NewDouble(s, args[0], last.Parties)
		if err != nil {
			return err
		}
		switch err := d.Break(ctx); {
		case err != nil:
			return err
		case a.json:
			return asJSON(a.out, last, "  ")
		}
		_, err = fmt.Fprintf(a.out, "broken: %s\n", what)
		return err
	})
	cmd.Long = `Break the round of a double barrier that parties wait in: all of them get ErrBroken, and whoever arrives later is in the next round. A round whose
parties are inside is not affected: it is over when the last of them has departed, or its session has ended. The round is marked as broken, and
the next one created; the parties delete the rest.`
	return cmd
}
