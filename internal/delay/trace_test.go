package delay_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/contend"
	"github.com/troupe-go/troupe/internal/delay"
	"github.com/troupe-go/troupe/internal/machine"
	"github.com/troupe-go/troupe/internal/znode"
)

var rewrite = flag.Bool("rewrite", false, "write what the machine does into testdata")

const parent = "/line"

type step struct{ from, to string }

// declared is the table as a set.
var declared = func() map[step]bool {
	set := map[step]bool{}
	for _, tr := range delay.Transitions() {
		set[step{tr.From.String(), tr.To.String()}] = true
	}
	return set
}()

func newMachine() *delay.Machine { return delay.New(contend.New(contend.Config{Parent: parent})) }

// TestTraces plays the stories in testdata: blocks of events, a line of dashes, and what the machine does. Lines that begin with "#" are prose.
func TestTraces(t *testing.T) {
	t.Parallel()
	for _, file := range stories(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			told, err := os.ReadFile(file)
			require.NoError(t, err)
			played := play(string(told), func(s step) { require.True(t, declared[s], "undeclared: %v", s) })
			if *rewrite {
				require.NoError(t, os.WriteFile(file, []byte(played), 0o644))
				return
			}
			require.Equal(t, string(told), played)
		})
	}
}

// TestTransitions: the stories take every transition that the table declares, and the table declares each once and gives a reason.
func TestTransitions(t *testing.T) {
	t.Parallel()
	require.Len(t, declared, len(delay.Transitions()), "declared twice")
	taken := map[step]bool{}
	for _, file := range stories(t) {
		story, err := os.ReadFile(file)
		require.NoError(t, err)
		play(string(story), func(s step) { taken[s] = true })
	}
	for _, tr := range delay.Transitions() {
		require.NotEmpty(t, tr.Why)
		require.True(t, taken[step{tr.From.String(), tr.To.String()}], "never taken: %v", tr)
	}
	require.Len(t, taken, len(declared))
}

func stories(t *testing.T) []string {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

// play feeds a story's events to a machine and returns the story with what the machine does in it.
func play(story string, seen func(step)) string {
	var out strings.Builder
	var block []string
	p := &player{m: newMachine(), seen: seen, asked: map[string]uint64{}}
	skipping := false // what the machine did when the story was written
	for line := range strings.Lines(story) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "":
			skipping = false
			out.WriteString("\n")
		case skipping:
		case line == "----":
			out.WriteString("----\n")
			for _, event := range block {
				if len(block) > 1 {
					out.WriteString("> " + event + "\n")
				}
				out.WriteString(p.tell(event))
			}
			block, skipping = nil, true
		case strings.HasPrefix(line, "#"):
			out.WriteString(line + "\n")
		default:
			out.WriteString(line + "\n")
			block = append(block, line)
		}
	}
	return out.String()
}

// player translates between a story's lines and a machine. In a story "lock-5" is the contender lock-0000000005.
type player struct {
	m     *delay.Machine
	seen  func(step)
	epoch uint64
	asked map[string]uint64 // the last number of each kind of request: an answer is to that one
}

func (p *player) tell(line string) string {
	words := strings.Fields(line)
	if words[0] == "new" {
		p.m, p.epoch = newMachine(), 0
		return "= " + p.at() + "\n"
	}
	var out strings.Builder
	from := p.m.State().String()
	for _, e := range p.m.Step(p.event(words[0], words[1:])) {
		out.WriteString(p.show(e) + "\n")
	}
	if to := p.m.State().String(); from != to {
		p.seen(step{from, to})
	}
	return out.String() + "= " + p.at() + "\n"
}

func (p *player) at() string { return p.m.State().String() + ", " + p.m.Inner().State().String() }

func value(words []string, key, otherwise string) string {
	for _, w := range words {
		if k, v, ok := strings.Cut(w, "="); ok && k == key {
			return v
		}
	}
	return otherwise
}

func number(words []string, key string, otherwise int64) int64 {
	n, _ := strconv.ParseInt(value(words, key, fmt.Sprint(otherwise)), 10, 64)
	return n
}

func has(words []string, word string) bool { return slices.Contains(words, word) }

func failure(words []string) error {
	if e := value(words, "err", ""); e != "" {
		return errors.New(e)
	}
	return nil
}

// name makes "lock-5" a znode's name.
func name(short string) string {
	head, n, _ := strings.Cut(short, "-")
	i, _ := strconv.Atoi(n)
	return fmt.Sprintf("%s-%010d", head, i)
}

func short(path string) string {
	_, full := znode.Split(path)
	c, _ := znode.ParseContender(full)
	return fmt.Sprintf("%s%d", c.Prefix, c.Seq)
}

func path(w []string) string { return parent + "/" + name(w[0]) }

func claimOf(w []string) machine.Claim {
	n, _ := strconv.ParseUint(w[0], 10, 64)
	return machine.Claim(n)
}

func (p *player) event(verb string, w []string) machine.Event {
	epoch := uint64(number(w, "epoch", int64(p.epoch)))
	switch verb {
	case "want":
		return machine.Wanted{Claim: claimOf(w), Once: has(w, "once") || has(w, "try"), Try: has(w, "try")}
	case "withdraw":
		return machine.Withdrawn{Claim: claimOf(w)}
	case "release":
		return machine.Released{Claim: claimOf(w)}
	case "holdended":
		return machine.HoldEnded{Claim: claimOf(w)}
	case "deferred":
		return machine.Deferred{Claim: claimOf(w)}
	case "epoch":
		p.epoch, _ = strconv.ParseUint(w[0], 10, 64)
		return machine.EpochBegan{Epoch: p.epoch, SessionID: 7, Trusted: true}
	case "epochended":
		return machine.EpochEnded{Epoch: epoch}
	case "trustended":
		return machine.TrustEnded{Epoch: epoch}
	case "trustgained":
		return machine.TrustGained{Epoch: epoch}
	case "suspended":
		return machine.Suspended{Epoch: epoch}
	case "resumed":
		return machine.Resumed{Epoch: epoch}
	case "joined":
		return machine.Joined{Epoch: epoch, Path: path(w), Czxid: number(w, "czxid", 0), Owner: 7}
	case "listed":
		var names []string
		for _, n := range w {
			names = append(names, name(n))
		}
		return machine.Listed{Epoch: epoch, Ask: p.asked["listed"], Names: names}
	case "seen":
		return machine.Seen{
			Epoch: epoch, Path: path(w), Ask: p.asked["seen"+path(w)], Exists: !has(w, "nothing"), Czxid: number(w, "czxid", 0), Owner: number(w, "owner", 7),
			Data: []byte(value(w, "data", "")), Err: failure(w),
		}
	case "left":
		return machine.Left{Epoch: epoch, Path: path(w)}
	case "deleted", "changed":
		return machine.Fired{Epoch: epoch, Path: path(w), Deleted: verb == "deleted"}
	case "recorded":
		return machine.Recorded{Epoch: epoch, Ask: p.asked["recorded"], Token: number(w, "token", 0), Version: int32(number(w, "version", 0)), Err: failure(w)}
	case "woke":
		return machine.Woke{Ask: p.asked["woke"]}
	}
	panic("unknown event " + verb)
}

func (p *player) show(e machine.Effect) string {
	switch e := e.(type) {
	case machine.Join:
		p.asked["listed"] = e.Ask
		if e.Replace != "" {
			return "  join in place of " + short(e.Replace)
		}
		return "  join"
	case machine.List:
		p.asked["listed"] = e.Ask
		return "  list"
	case machine.Read:
		p.asked["seen"+e.Path] = e.Ask
		return "  read " + short(e.Path)
	case machine.Record:
		p.asked["recorded"] = e.Ask
		return fmt.Sprintf("  record token=%d while %s stands, version=%d", e.Token, short(e.Place), e.Version)
	case machine.Linger:
		p.asked["woke"] = e.Ask
		return "  linger"
	case machine.Wake:
		p.asked["woke"] = e.Ask
		return "  wake"
	case machine.Leave:
		return "  leave " + short(e.Path)
	case machine.Depart:
		return "  depart " + short(e.Path) + " with the record"
	case machine.Grant:
		return fmt.Sprintf("  grant %d %s token=%d", e.Claim, short(e.Path), e.Token)
	case machine.End:
		return fmt.Sprintf("  end %d cause=%d", e.Claim, e.Cause)
	case machine.Revoked:
		return fmt.Sprintf("  revoked %d", e.Claim)
	case machine.Freed:
		return fmt.Sprintf("  freed %d", e.Claim)
	case machine.Settle:
		if e.Err != nil {
			return fmt.Sprintf("  settle %d: %v", e.Claim, e.Err)
		}
		return fmt.Sprintf("  settle %d", e.Claim)
	case machine.Publish:
		stale := map[bool]string{true: " stale"}[e.Standing.Stale]
		return fmt.Sprintf("  publish %v ahead=%d%s", e.Standing.Phase, e.Standing.Ahead, stale)
	}
	return fmt.Sprintf("  %T", e)
}
