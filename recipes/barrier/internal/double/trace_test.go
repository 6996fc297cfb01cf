package double_test

// The stories in testdata, and the table of transitions there, for stories and schedules.

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/barrier/internal/double"
)

// parties are the names in a story: b is the machine's own, b' another process of its id, a' an
// older one of a's, and c4 expects four.
var parties = map[string]string{
	"a": party("0a", 3, "a"), "b": party("01", 3, "b"), "b2": party("02", 3, "b"), "c": party("0c", 3, "c"), "d": party("0d", 3, "d"),
	"a'": party("f1", 3, "a"), "b'": party("f2", 3, "b"), "c4": party("0c", 4, "c"),
}

func party(guid string, of int, id string) string {
	return double.PartyName(znode.GUID("00000000-0000-4000-8000-0000000000"+guid), id, of)
}

// short is a text with the stories' names: "1/b" for the znode of b in round 1, "." for the
// barrier's own.
func short(text string) string {
	if text == at {
		return "."
	}
	for name, full := range parties {
		text = strings.ReplaceAll(text, full, name)
	}
	return strings.ReplaceAll(text, at+"/round-000000000", "")
}

// path is the inverse of short.
func path(short string) string {
	if short == "." {
		return at
	}
	words := strings.Split(short, "/")
	for i, word := range words {
		if n, err := strconv.ParseInt(word, 10, 64); err == nil {
			words[i] = double.RoundPath(at, n)
		} else if full, ok := parties[word]; ok {
			words[i] = full
		}
	}
	return strings.Join(words, "/")
}

// heard is the machine of a story, and its last requests.
type heard struct {
	*double.Machine
	ops  []machine.Op
	asks map[string]uint64
}

func (h *heard) Step(ev machine.Event) []machine.Effect {
	effects := h.Machine.Step(ev)
	for _, e := range effects {
		switch e := e.(type) {
		case machine.List:
			h.asks["own"] = e.Ask
		case machine.Ensure:
			h.asks["ensured"] = e.Ask
		case machine.Remove:
			h.asks["removed"] = e.Ask
		case machine.Transact:
			h.asks["done"], h.asks["failed"], h.ops = e.Ask, e.Ask, e.Ops
		}
	}
	return effects
}

// dialect is the dialect of stories about party b of three.
func dialect() recipetest.Dialect {
	h := &heard{}
	return recipetest.Dialect{
		New: func([]string) recipetest.Subject {
			n := 0
			h.asks = map[string]uint64{}
			h.Machine = double.New(double.Config{Path: at, Parties: 3, ID: "b", GUID: func() znode.GUID {
				n++
				return znode.GUID(fmt.Sprintf("00000000-0000-4000-8000-%012d", n))
			}})
			return recipetest.Subject{Machine: h, State: func() string { return h.State().String() }}
		},
		Path:  path,
		Short: short,
		Event: func(tl *recipetest.Teller, verb string, w recipetest.Words) machine.Event {
			if ev := request(verb, w); ev != nil {
				return ev
			}
			if w.Ask == 0 {
				w.Ask = h.asks[verb]
			}
			return h.answer(tl, verb, w)
		},
		Show: show,
	}
}

func request(verb string, w recipetest.Words) machine.Event {
	claim := uint64(w.Claim())
	switch verb {
	case "want":
		return double.Wanted{Claim: claim, Once: !w.Has("lasting")}
	case "withdraw":
		return double.Withdrawn{Claim: claim}
	case "depart":
		return double.Departed{Claim: claim}
	case "defer":
		return double.Deferred{Claim: claim, Once: true}
	case "closing":
		return machine.Closing{}
	}
	return nil
}

// answer makes an answer of a line: with "missing" there is no znode; with "refused" ZooKeeper
// refuses it.
func (h *heard) answer(tl *recipetest.Teller, verb string, w recipetest.Words) machine.Event {
	epoch, code, err := tl.Epoch(w), machine.Done, error(nil)
	switch {
	case w.Has("refused"):
		code, err = machine.Refused, recipetest.ErrRefused
	case w.Has("missing") && verb != "seen":
		code = machine.NoNode
	}
	switch verb {
	case "own": // the listing of the own znode
		return machine.Listed{Epoch: epoch, Ask: w.Ask, Code: code, Err: err, Stat: machine.Stat{Czxid: 42, Owner: 7}}
	case "listed":
		l := machine.Listed{Epoch: epoch, Ask: w.Ask, Code: code, Err: err}
		for _, name := range w.Plain {
			l.Names = append(l.Names, strings.TrimPrefix(path(name), at+"/"))
		}
		return l
	case "seen":
		s := machine.Seen{Epoch: epoch, Ask: w.Ask, Path: tl.Path(w), Code: code, Err: err, Exists: code == machine.Done && !w.Has("missing")}
		data, _ := w.Value("data")
		lines := strings.Split(strings.ReplaceAll(data, "·", " "), "↵")
		for i := range lines {
			lines[i] = path(lines[i])
		}
		s.Data = []byte(strings.Join(lines, "\n"))
		s.Stat = machine.Stat{Version: int32(w.Number("version", 0)), Children: int32(w.Number("children", 0)), Czxid: w.Number("czxid", 5)}
		return s
	case "ensured":
		return machine.Ensured{Epoch: epoch, Ask: w.Ask, Code: code, Err: err}
	case "removed":
		return machine.Removed{Epoch: epoch, Ask: w.Ask}
	case "done":
		t := machine.Transacted{Epoch: epoch, Ask: w.Ask, Failed: -1, Results: make([]machine.Result, len(h.ops))}
		for i := range t.Results {
			t.Results[i].Stat.Version = int32(w.Number("version", 1))
		}
		return t
	case "failed":
		codes := map[string]machine.Code{"bad-version": machine.BadVersion, "no-node": machine.NoNode, "exists": machine.NodeExists, "not-empty": machine.NotEmpty, "unknown": machine.Unknown}
		if code == machine.Done {
			code = codes[w.First()]
		}
		return machine.Transacted{Epoch: epoch, Ask: w.Ask, Code: code, Err: err, Failed: int(w.Number("at", 0))}
	}
	return nil
}

func show(e machine.Effect) string {
	switch e := e.(type) {
	case machine.List:
		text := fmt.Sprintf("list #%d %s", e.Ask, short(e.Path))
		if e.Watch {
			text += " and watch"
		}
		return text
	case machine.Ensure:
		return fmt.Sprintf("ensure #%d %s", e.Ask, short(e.Path))
	case machine.Transact:
		all := make([]string, len(e.Ops))
		for i, op := range e.Ops {
			op.Path = short(op.Path)
			all[i] = short(op.String())
		}
		return fmt.Sprintf("transact #%d: %s", e.Ask, strings.Join(all, ", "))
	case machine.Stop:
		return fmt.Sprintf("stop: %v", e.Err)
	case double.Enter:
		return fmt.Sprintf("enter %d as %s token=%d with %s", e.Claim, short(e.Path), e.Token, short(strings.Join(e.Names, " ")))
	case double.Lost, double.Left, double.Refuse:
		return recipetest.Format(e)
	}
	return ""
}

// isNext tells the states for which the table says "next": the first state of the next claim, or
// Idle.
func isNext(state string) bool { return state == "Idle" || state == "Finding" || state == "Arriving" }

// table reads the table in testdata: its rows, and the transitions that they declare.
func table(t testing.TB) (rows []recipetest.Step, allowed *recipetest.Table) {
	t.Helper()
	text, err := os.ReadFile("testdata/transitions.md")
	require.NoError(t, err)
	allowed = &recipetest.Table{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		if len(cells) != 4 || cells[0] == "in" {
			continue
		}
		rows = append(rows, recipetest.Step{From: cells[0], On: cells[1], To: cells[2]})
		require.NotEmpty(t, cells[3], "without a reason: %v", rows[len(rows)-1])
		for from := double.NoEpoch; from <= double.Deleting; from++ {
			for to := double.NoEpoch; to <= double.Deleting; to++ {
				if declares(rows[len(rows)-1], recipetest.Step{From: from.String(), On: cells[1], To: to.String()}) {
					allowed.Declare(from, cells[1], to, cells[3])
				}
			}
		}
	}
	return rows, allowed
}

func declares(row, s recipetest.Step) bool {
	return (row.From == s.From || row.From == "any") && row.On == s.On && (row.To == s.To || row.To == "next" && isNext(s.To))
}

// TestTraces plays the stories in testdata.
func TestTraces(t *testing.T) {
	t.Parallel()
	_, allowed := table(t)
	for _, name := range dialect().Stories(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dialect().Compare(t, allowed, name)
		})
	}
}

// B62: only rounds and parties count.
func TestForeignNames(t *testing.T) {
	t.Parallel()
	require.Equal(t, []int64{3}, double.Rounds([]string{
		"ready", "round-", "round-1", "round-x000000001", "round--000000001", "round-0000000000", "foo", "round-0000000003",
	}))
	for _, name := range []string{"ready", "party-", "p1", "_c_x", "out-1", "in", "out"} {
		_, ok := double.PartyID(name)
		require.False(t, ok, name)
	}
}

// TestTransitions: the stories, and some schedules, take every transition that the table declares.
func TestTransitions(t *testing.T) {
	t.Parallel()
	rows, allowed := table(t)
	taken := dialect().Taken(t)
	for n := range uint64(1500) {
		recipetest.Schedule(t, rand.New(rand.NewPCG(n, 3)).IntN, func(c recipetest.Chance) {
			play(c, func(from string, ev machine.Event, to string) {
				allowed.Check(c, from, ev, to)
				taken[recipetest.Step{From: from, On: recipetest.EventName(ev), To: to}] = true
			})
		})
	}
	for _, row := range rows {
		reached := false
		for s := range taken {
			reached = reached || declares(row, s)
		}
		require.True(t, reached, "never taken: %v", row)
	}
}
