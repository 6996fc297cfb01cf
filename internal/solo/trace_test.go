package solo_test

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

	"github.com/troupe-go/troupe/internal/machine"
	"github.com/troupe-go/troupe/internal/solo"
)

var rewrite = flag.Bool("rewrite", false, "write what the machine does into testdata")

const path = "/controller"

type step struct{ from, on, to string }

// declared is the table as a set.
var declared = func() map[step]bool {
	set := map[step]bool{}
	for _, tr := range solo.Transitions() {
		set[step{tr.From.String(), tr.On, tr.To.String()}] = true
	}
	return set
}()

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
	require.Len(t, declared, len(solo.Transitions()), "declared twice")
	taken := map[step]bool{}
	for _, file := range stories(t) {
		story, err := os.ReadFile(file)
		require.NoError(t, err)
		play(string(story), func(s step) { taken[s] = true })
	}
	for _, tr := range solo.Transitions() {
		require.NotEmpty(t, tr.Why)
		require.True(t, taken[step{tr.From.String(), tr.On, tr.To.String()}], "never taken: %v", tr)
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
	p := &player{m: solo.New(path), seen: seen}
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

// player translates between a story's lines and a machine.
type player struct {
	m     *solo.Machine
	seen  func(step)
	epoch uint64
	read  uint64 // number of the last read: "seen" answers that one
}

func (p *player) tell(line string) string {
	words := strings.Fields(line)
	if words[0] == "new" {
		p.m, p.epoch = solo.New(path), 0
		return "= " + p.m.State().String() + "\n"
	}
	ev := p.event(words[0], words[1:])
	var out strings.Builder
	from := p.m.State().String()
	for _, e := range p.m.Step(ev) {
		if r, ok := e.(machine.Read); ok {
			p.read = r.Ask
		}
		out.WriteString(show(e) + "\n")
	}
	to := p.m.State().String()
	if from != to {
		p.seen(step{from, name(ev), to})
	}
	return out.String() + "= " + to + "\n"
}

// value finds key=value among words.
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

func failure(words []string) error {
	switch e := value(words, "err", ""); e {
	case "":
		return nil
	case "held":
		return machine.ErrHeld
	default:
		return errors.New(e)
	}
}

func has(words []string, word string) bool { return slices.Contains(words, word) }

func (p *player) event(verb string, w []string) machine.Event {
	epoch := uint64(number(w, "epoch", int64(p.epoch)))
	claim := func() machine.Claim {
		n, _ := strconv.ParseUint(w[0], 10, 64)
		return machine.Claim(n)
	}
	switch verb {
	case "want":
		return machine.Wanted{Claim: claim(), Once: has(w, "once") || has(w, "try"), Try: has(w, "try")}
	case "withdraw":
		return machine.Withdrawn{Claim: claim()}
	case "release":
		return machine.Released{Claim: claim()}
	case "holdended":
		return machine.HoldEnded{Claim: claim()}
	case "deferred":
		return machine.Deferred{Claim: claim()}
	case "epoch":
		n, _ := strconv.ParseUint(w[0], 10, 64)
		p.epoch = n
		return machine.EpochBegan{Epoch: n, SessionID: number(w, "session", 7), Trusted: !has(w, "untrusted")}
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
		return machine.Joined{Epoch: epoch, Path: path, Czxid: number(w, "czxid", 0), Owner: number(w, "owner", 7), Err: failure(w)}
	case "seen":
		return machine.Seen{
			Epoch: epoch, Path: path, Ask: uint64(number(w, "ask", int64(p.read))), Exists: !has(w, "nothing"),
			Data: []byte(value(w, "data", "")), Czxid: number(w, "czxid", 0), Owner: number(w, "owner", 7), Err: failure(w),
		}
	case "left":
		return machine.Left{Epoch: epoch, Path: path}
	case "deleted", "changed":
		return machine.Fired{Epoch: epoch, Path: path, Deleted: verb == "deleted"}
	case "recovered":
		return machine.Recovered{Epoch: epoch, Path: path, Spent: has(w, "spent")}
	}
	panic("unknown event " + verb)
}

// name is an event's in the table.
func name(ev machine.Event) string {
	if f, ok := ev.(machine.Fired); ok {
		if f.Deleted {
			return "Deleted"
		}
		return "Changed"
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", ev), "machine.")
}

func show(e machine.Effect) string {
	switch e := e.(type) {
	case machine.Join:
		return fmt.Sprintf("  create #%d", e.Ask)
	case machine.Read:
		return fmt.Sprintf("  read #%d and watch", e.Ask)
	case machine.Leave:
		return "  leave"
	case machine.Grant:
		return fmt.Sprintf("  grant %d token=%d", e.Claim, e.Token)
	case machine.End:
		causes := map[machine.Cause]string{machine.Deleted: "deleted", machine.Expired: "expired", machine.Unwatched: "unwatched"}
		return strings.TrimRight(fmt.Sprintf("  end %d %s %v", e.Claim, causes[e.Cause], orNothing(e.Err)), " ")
	case machine.Revoked:
		return fmt.Sprintf("  revoked %d", e.Claim)
	case machine.Freed:
		return fmt.Sprintf("  freed %d", e.Claim)
	case machine.Settle:
		return strings.TrimRight(fmt.Sprintf("  settle %d %v", e.Claim, orNothing(e.Err)), " ")
	case machine.Publish:
		stale := map[bool]string{true: " stale"}[e.Standing.Stale]
		return fmt.Sprintf("  publish %v ahead=%d%s", e.Standing.Phase, e.Standing.Ahead, stale)
	}
	return fmt.Sprintf("  %T", e)
}

func orNothing(err error) any {
	if err == nil {
		return ""
	}
	return err
}
