package contend_test

// The stories in testdata, their words, and the table of transitions there, which they take.

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/internal/contend"
)

// subject is one of the kinds of machines here.
type subject struct {
	name        string
	dialect     recipetest.Dialect
	transitions *recipetest.Table
	schedule    func(c recipetest.Chance, taken recipetest.Steps)
	schedules   int // of TestSchedules
}

var (
	declared    = table("contenders", "both")
	delayTable  = table("delay")
	singleTable = table("single", "both")
)

var subjects = []subject{
	{"contenders", contenders, declared, schedule, tier.Count(5000, 50_000)},
	{"delay", delays, delayTable, delaySchedule, tier.Count(500, 5000)},
	{"single", singles, singleTable, singleSchedule, tier.Count(500, 5000)},
}

// each runs a test for every kind of machine.
func each(t *testing.T, test func(t *testing.T, s subject)) {
	t.Helper()
	for _, s := range subjects {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

// phase is a state as the table has it.
type phase string

func (p phase) String() string { return string(p) }

// table is that of these parts in testdata/transitions.md. A delay does not say by which event.
func table(parts ...string) *recipetest.Table {
	text, err := os.ReadFile("testdata/transitions.md")
	if err != nil {
		panic(err)
	}
	table := &recipetest.Table{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		if len(cells) == 5 && slices.Contains(parts, cells[0]) {
			table.Declare(phase(cells[1]), strings.TrimPrefix(cells[2], "any"), phase(cells[3]), cells[4])
		}
	}
	return table
}

// TestTraces plays the stories in testdata, that of B23 among them: a predecessor goes between the
// listing and the watch (errors.txt).
func TestTraces(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s subject) {
		for _, name := range s.dialect.Stories(t) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s.dialect.Compare(t, s.transitions, name)
			})
		}
	})
}

// TestTransitions: the stories, and some schedules, take every transition that the table declares,
// and the table declares each once and gives a reason.
func TestTransitions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s subject) {
		taken := s.dialect.Taken(t)
		for n := range uint64(1500) {
			require.NotPanics(t, func() { s.schedule(recipetest.Chance{Pick: rand.New(rand.NewPCG(n, 1)).IntN}, taken) })
		}
		require.Empty(t, s.transitions.Faults(taken))
	})
}

// contenders: in a story "A:lock-5" is the contender _c_<a GUID made of A's>-lock-0000000005.
var contenders = recipetest.Dialect{New: subjectOf, Path: path, Short: short, Event: event}

// subjectOf makes the machine of a story.
func subjectOf(words []string) recipetest.Subject {
	cfg := contend.Config{Parent: parent}
	switch kind := strings.Join(words, " "); kind {
	case "":
	case "shared":
		cfg.Rule = contend.Shared()
	case "permits 3":
		cfg.Rule, cfg.Data = contend.AtMost(3), []byte("me")
	default:
		panic("unknown machine: " + kind)
	}
	m := contend.New(cfg)
	return recipetest.Subject{Machine: m, State: func() string { return m.State().String() }}
}

// event makes an event of a line, if it is one that contenders alone have.
func event(p *recipetest.Teller, verb string, w recipetest.Words) machine.Event {
	epoch := p.Epoch(w)
	switch verb {
	case "downgrade":
		return machine.DowngradeWanted{Claim: w.Claim()}
	case "written":
		done := machine.Transacted{Epoch: epoch, Ask: w.Ask, Failed: -1, Err: w.Err()}
		if done.Err != nil {
			done.Code = machine.Refused
		}
		if w.Has("stale") {
			done.Code, done.Err = machine.BadVersion, errStale
		}
		return done
	case "children":
		return machine.Fired{Epoch: epoch, Path: parent, Change: machine.ChildrenChanged}
	case "downgraded":
		x := machine.Downgraded{Epoch: epoch, Path: p.Path(w), Gone: w.Has("gone"), Err: w.Err()}
		if by, ok := w.Value("by"); ok {
			x.New = path(by)
		}
		return x
	}
	return nil
}

// path is that of "A:lock-5"; without a letter in front the name is written out.
func path(short string) string {
	switch short {
	case "":
		return ""
	case "limit":
		return parent
	}
	initial, rest, ok := strings.Cut(short, ":")
	if !ok {
		return parent + "/" + short
	}
	i := strings.LastIndexAny(rest, "-_")
	if i > 0 && rest[i-1] == '-' {
		i-- // the second dash is a sign
	}
	n, _ := strconv.ParseInt(rest[i+1:], 10, 32)
	return parent + "/" + znode.Protect(guid(initial), fmt.Sprintf("%s%010d", rest[:i+1], n))
}

func guid(initial string) znode.GUID {
	x := fmt.Sprintf("%x", initial)
	r := func(n int) string { return strings.Repeat(x, n) }
	return znode.GUID(strings.Join([]string{r(4), r(2), r(2), r(2), r(6)}, "-"))
}

// short is the inverse of path.
func short(path string) string {
	if path == parent {
		return "limit"
	}
	_, full := znode.Split(path)
	c, ok := znode.ParseContender(full)
	if !ok || c.GUID == "" {
		return full
	}
	initial, _ := strconv.ParseUint(string(c.GUID[:2]), 16, 8)
	prefix := c.Prefix
	if c.Marks() {
		prefix = fmt.Sprintf("%s%d-", prefix, c.Weight)
	}
	return fmt.Sprintf("%c:%s%d", rune(initial), prefix, c.Seq)
}
