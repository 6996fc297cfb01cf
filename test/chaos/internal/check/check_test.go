// Each check, on good and bad histories. The functions before the table make events and short
// histories; times are in milliseconds.

package check_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/test/chaos/internal/check"
	"github.com/troupe-go/troupe/test/chaos/internal/history"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ms = int64(time.Millisecond)

// act is an act that began at a millisecond and took one.
func act(at int64, party string, token int64, more ...func(*history.Event)) history.Event {
	return with(history.Event{Kind: history.Act, Work: "lock", Thing: "lock/line", Party: party, Token: token, From: at * ms, At: (at + 1) * ms}, more)
}

func with(e history.Event, more []func(*history.Event)) history.Event {
	for _, m := range more {
		m(&e)
	}
	return e
}

func shared(e *history.Event) { e.Mode = history.Shared }

func of(thing string, weight int64) func(*history.Event) {
	return func(e *history.Event) { e.Thing, e.Work, e.Weight = thing, "other", weight }
}

func put(at int64, id string, more ...func(*history.Event)) history.Event {
	return with(history.Event{Kind: history.Put, Work: "queue", Thing: "q", Party: "p", Value: id, From: at * ms, At: (at + 1) * ms, Done: true}, more)
}

func got(at int64, id string, more ...func(*history.Event)) history.Event {
	return with(history.Event{Kind: history.Got, Work: "queue", Thing: "q", Party: "c", Value: id, Token: 1, From: at * ms, At: (at + 1) * ms}, more)
}

func acked(at int64, id string, more ...func(*history.Event)) history.Event {
	return with(history.Event{Kind: history.Acked, Work: "queue", Thing: "q", Party: "c", Value: id, Token: 1, From: at * ms, At: (at + 1) * ms, Done: true}, more)
}

func wrote(at int64, value string, token int64, more ...func(*history.Event)) history.Event {
	e := history.Event{Kind: history.Wrote, Work: "register", Thing: "register", Value: value, Token: token, From: at * ms, At: (at + 1) * ms, Done: true}
	return with(e, more)
}

func read(at int64, value string) history.Event {
	return history.Event{Kind: history.Read, Work: "register", Thing: "register", Value: value, From: at * ms, At: (at + 1) * ms}
}

func unknown(e *history.Event) { e.Done = false }

func refused(e *history.Event) { e.Done, e.Mode = false, history.Refused }

// holds are the acts of a possession of some seconds.
func holds(thing string, until int64) history.Event {
	return history.Event{Kind: history.Act, Work: "moving", Thing: thing, Party: "w", From: (until - 2000) * ms, At: until * ms}
}

func by(party string, attempt int64) func(*history.Event) {
	return func(e *history.Event) { e.Party, e.Token = party, attempt }
}

func once(e *history.Event) { e.Old = history.AtMostOnce }

func after(d int64) func(*history.Event) { return func(e *history.Event) { e.Weight = d } }

func moved(at int64, work string) history.Event {
	return history.Event{Kind: history.Moved, Work: work, At: at * ms, Party: "w"}
}

func gate(at int64, value string) history.Event {
	return history.Event{Kind: history.Wrote, Work: "barrier", Thing: "barrier", Value: value, From: at * ms, At: (at + 1) * ms, Done: true}
}

func passed(from, at int64) history.Event {
	return history.Event{Kind: history.Read, Work: "barrier", Thing: "barrier", Value: history.Down, From: from * ms, At: at * ms}
}

func round(at int64, party, members string) history.Event {
	return history.Event{Kind: history.Round, Thing: "double/1", Party: party, Value: members, Weight: 2, At: at * ms}
}

func within(at int64, party string) history.Event {
	return history.Event{Kind: history.Act, Work: "double", Thing: "double/1", Party: party, Mode: history.Shared, From: at * ms, At: (at + 1) * ms}
}

func left(at int64, party string) history.Event {
	return history.Event{Kind: history.Left, Thing: "double/1", Party: party, At: at * ms}
}

func outcome(at int64, party, value string) history.Event {
	return history.Event{Kind: history.Outcome, Thing: "tx", Party: party, Value: value, At: at * ms}
}

// levels are a process's goroutines in two calms.
func levels(first, last int64) []history.Event {
	level := func(at, n int64) history.Event {
		return history.Event{Kind: history.Level, Party: "w", Token: n, At: at * ms}
	}
	return []history.Event{
		mark(0, history.CalmBegan), level(90, first), mark(100, history.CalmEnded), mark(200, history.CalmBegan), level(290, last), mark(300, history.CalmEnded),
	}
}

func readMark(at int64, value string) history.Event {
	return history.Event{Kind: history.Read, Work: "commit", Thing: "/mark", Party: "w0.1", Value: value, From: at * ms, At: (at + 1) * ms}
}

func heard(from, at int64, mode string) history.Event {
	return history.Event{Kind: history.Outcome, Thing: "tx", Party: "s", Mode: mode, Value: "committed", From: from * ms, At: at * ms}
}

// slots are two instances of a process in a calm, at whose end the process may be alive; the second
// one may move.
func slots(alive, moves bool) []history.Event {
	slot := func(kind history.Kind, at int64, slot string) history.Event {
		return history.Event{Kind: kind, Work: "moving", Party: "w", Thing: slot, At: at * ms}
	}
	all := []history.Event{slot(history.Slot, 1, "a"), slot(history.Slot, 2, "b"), mark(10, history.CalmBegan), slot(history.Moved, 20, "a")}
	if moves {
		all = append(all, slot(history.Moved, 30, "b"))
	}
	if alive {
		all = append(all, history.Event{Kind: history.Level, Party: "w", At: 3900 * ms})
	}
	return append(all, mark(4000, history.CalmEnded))
}

// drawn are slots of which one waits, while another one moves so many times, most of them before
// the calm.
func drawn(times int) []history.Event {
	all := make([]history.Event, 0, times+8)
	for i, e := range slots(true, false) {
		e.At += 200 * ms
		if e.Work = "lot"; i < 2 {
			e.At = int64(i)
		}
		all = append(all, e)
	}
	for i := range times - 1 {
		all = append(all, history.Event{Kind: history.Moved, Work: "lot", Party: "w", Thing: "a", At: int64(i+2) * ms})
	}
	slices.SortStableFunc(all, func(a, b history.Event) int { return cmp.Compare(a.At, b.At) })
	return append(all, moved(300, "moving"))
}

func cas(old string) func(*history.Event) {
	return func(e *history.Event) { e.Weight, e.Old = 1, old }
}

func mark(at int64, kind history.Kind) history.Event { return history.Event{Kind: kind, At: at * ms} }

// TestEachCheckOnGoodAndBadHistories: bad histories are found by the check that is named, and good
// ones are not.
func TestEachCheckOnGoodAndBadHistories(t *testing.T) {
	t.Parallel()
	settings := check.Settings{
		Timeout: time.Second, Settle: 3 * time.Second, Works: []string{"moving"},
		Delay: map[string]time.Duration{"late": 500 * time.Millisecond}, Permits: map[string]int64{"sem": 3}, Capacity: map[string]int{"q": 2}, Lots: map[string]int{"lot": 100},
	}
	for name, c := range map[string]struct {
		events []history.Event
		found  []string // the checks that find something
	}{
		"one after the other":                        {events: []history.Event{act(1, "a", 1), act(5, "a", 1), act(7, "b", 2), act(9, "b", 2)}},
		"two at once":                                {events: []history.Event{act(1, "a", 1), act(5, "b", 2), act(9, "a", 1), act(12, "b", 2)}, found: []string{"overlap", "porcupine"}},
		"one act within another's possession":        {events: []history.Event{act(1, "a", 1), act(5, "b", 2), act(9, "a", 1)}, found: []string{"overlap", "porcupine"}},
		"acts that overlap and prove nothing":        {events: []history.Event{act(1, "a", 1), {Kind: history.Act, Work: "lock", Thing: "lock/line", Party: "a", Token: 1, From: 3 * ms, At: 20 * ms}, act(10, "b", 2)}},
		"the earlier token acts after the later one": {events: []history.Event{act(1, "b", 2), act(5, "a", 1)}, found: []string{"tokens", "porcupine"}},
		"a token twice":                              {events: []history.Event{act(1, "a", 1), act(5, "b", 1)}, found: []string{"tokens", "porcupine"}},
		"readers together":                           {events: []history.Event{act(1, "a", 1, of("s", 0), shared), act(5, "b", 2, of("s", 0), shared), act(9, "a", 1, of("s", 0), shared)}},
		"a writer among readers":                     {events: []history.Event{act(1, "a", 1, of("s", 0), shared), act(5, "b", 2, of("s", 0)), act(9, "a", 1, of("s", 0), shared)}, found: []string{"overlap"}},
		"permits enough": {events: []history.Event{
			act(1, "a", 1, of("sem", 1)), act(2, "b", 2, of("sem", 2)), act(9, "a", 1, of("sem", 1)), act(10, "b", 2, of("sem", 2)), act(11, "c", 3, of("sem", 3)),
		}},
		"more than there are permits": {events: []history.Event{
			act(1, "a", 1, of("sem", 2)), act(4, "b", 2, of("sem", 2)), act(9, "a", 1, of("sem", 2)), act(10, "b", 2, of("sem", 2)),
		}, found: []string{"overlap"}},
		"struck, and on until it could have heard of it": {events: []history.Event{
			act(1, "a", 1), {Kind: history.Struck, Token: 1, From: 3 * ms, At: 4 * ms}, act(5, "b", 2), act(900, "a", 1), act(950, "b", 2),
		}},
		"struck, and on for longer": {events: []history.Event{
			act(1, "a", 1), {Kind: history.Struck, Token: 1, From: 3 * ms, At: 4 * ms}, act(5, "b", 2), act(1200, "a", 1), act(1300, "b", 2),
		}, found: []string{"overlap", "tokens", "porcupine"}},
		"expired by a rival, and on until it could have heard of it": {events: []history.Event{
			act(1, "w0.1", 1), {Kind: history.Expired, Party: "w0", From: 3 * ms, At: 4 * ms}, act(5, "w1.1", 2), act(900, "w0.1", 1), act(950, "w1.1", 2),
		}},
		"expired by a rival, which took long": {events: []history.Event{
			act(1, "w0.1", 1), {Kind: history.Expired, Party: "w0", From: 3 * ms, At: 700 * ms}, act(650, "w1.1", 2), act(1400, "w0.1", 1), act(1450, "w1.1", 2),
		}},
		"expired by a rival, and on for longer": {events: []history.Event{
			act(1, "w0.1", 1), {Kind: history.Expired, Party: "w0", From: 3 * ms, At: 4 * ms}, act(5, "w1.1", 2), act(1200, "w0.1", 1), act(1300, "w1.1", 2),
		}, found: []string{"overlap", "tokens", "porcupine"}},
		"received behind another's acknowledgement, before it could hear of the end of its session": {events: []history.Event{
			put(1, "i"), {Kind: history.Expired, Party: "w0", From: 3 * ms, At: 4 * ms}, got(5, "i", by("w1.c", 1)), acked(7, "i", by("w1.c", 1)), got(900, "i", by("w0.c", 1)),
		}},
		"received behind another's acknowledgement, and later than that": {events: []history.Event{
			put(1, "i"), {Kind: history.Expired, Party: "w0", From: 3 * ms, At: 4 * ms}, got(5, "i", by("w1.c", 1)), acked(7, "i", by("w1.c", 1)), got(1200, "i", by("w0.c", 1)),
		}, found: []string{"queue"}},
		"received behind another's acknowledgement, and a third one's session was ended": {events: []history.Event{
			put(1, "i"), {Kind: history.Expired, Party: "w2", From: 3 * ms, At: 4 * ms}, got(5, "i", by("w1.c", 1)), acked(7, "i", by("w1.c", 1)), got(900, "i", by("w0.c", 1)),
		}, found: []string{"queue"}},
		"an error that nobody has to expect": {events: []history.Event{{Kind: history.Failed, Work: "lock", Value: "boo"}}, found: []string{"errors"}},

		"a register":                              {events: []history.Event{wrote(1, "x", 1), read(3, "x"), wrote(5, "y", 2), read(7, "y")}},
		"a stale read":                            {events: []history.Event{wrote(1, "x", 1), wrote(5, "y", 2), read(7, "x")}, found: []string{"porcupine"}},
		"a write behind the fence":                {events: []history.Event{wrote(1, "x", 2), wrote(5, "y", 1), read(7, "y")}, found: []string{"porcupine"}},
		"a refused write that was done":           {events: []history.Event{wrote(1, "x", 1), wrote(5, "y", 1, refused), read(7, "y")}, found: []string{"refused"}},
		"a refused write":                         {events: []history.Event{wrote(1, "x", 1), wrote(5, "y", 1, refused), read(7, "x")}},
		"an unknown write, seen":                  {events: []history.Event{wrote(1, "x", 1), wrote(5, "y", 1, unknown), read(7, "x"), read(9, "y")}},
		"an unknown write, never seen":            {events: []history.Event{wrote(1, "x", 1), wrote(5, "y", 1, unknown), read(7, "x")}},
		"an unknown write, seen and gone by rule": {events: []history.Event{wrote(1, "x", 1), wrote(5, "y", 1, unknown), read(9, "y"), read(11, "x")}, found: []string{"porcupine"}},

		"an item's life":                {events: []history.Event{put(1, "i"), got(3, "i"), acked(5, "i")}},
		"an item that is lost":          {events: []history.Event{put(1, "i"), got(3, "i")}, found: []string{"queue"}},
		"a put of unknown outcome":      {events: []history.Event{put(1, "i", unknown)}},
		"a refused put, delivered":      {events: []history.Event{put(1, "i", refused), got(3, "i"), acked(5, "i")}, found: []string{"queue"}},
		"delivered, never put":          {events: []history.Event{got(3, "i"), acked(5, "i")}, found: []string{"queue"}},
		"acknowledged twice":            {events: []history.Event{put(1, "i"), got(3, "i"), got(4, "i", by("d", 2)), acked(5, "i"), acked(7, "i", by("d", 2))}, found: []string{"queue"}},
		"delivered behind its end":      {events: []history.Event{put(1, "i"), got(3, "i"), acked(5, "i"), got(7, "i", by("d", 2))}, found: []string{"queue"}},
		"delivered again after a death": {events: []history.Event{put(1, "i"), got(3, "i"), acked(5, "i", unknown), got(7, "i", by("d", 2)), acked(9, "i", by("d", 2))}},
		"lost after a refused end":      {events: []history.Event{put(1, "i"), got(3, "i"), acked(5, "i", refused)}, found: []string{"queue"}},
		"at most once":                  {events: []history.Event{put(1, "i", once), got(3, "i"), put(4, "j", once)}},
		"at most once, twice":           {events: []history.Event{put(1, "i", once), got(3, "i"), got(5, "i")}, found: []string{"queue"}},
		"early":                         {events: []history.Event{put(1, "i", after(5)), got(3, "i"), acked(4, "i")}, found: []string{"queue"}},
		"in time":                       {events: []history.Event{put(1, "i", after(5)), got(7, "i"), acked(9, "i")}},
		"within its capacity":           {events: []history.Event{put(1, "i"), put(2, "j"), got(3, "i"), acked(5, "i"), put(6, "k"), got(7, "j"), acked(8, "j"), got(9, "k"), acked(10, "k")}},
		"beyond its capacity":           {events: []history.Event{put(1, "i"), put(2, "j"), put(3, "k"), got(7, "i"), acked(8, "i"), got(7, "j"), acked(8, "j"), got(9, "k"), acked(10, "k")}, found: []string{"queue"}},

		"a barrier that is down, or lowered meanwhile": {events: []history.Event{gate(1, history.Up), passed(3, 9), gate(7, history.Down), passed(10, 11)}},
		"a barrier that is up":                         {events: []history.Event{gate(1, history.Up), passed(3, 6), gate(8, history.Down)}, found: []string{"barrier"}},
		"one verdict":                                  {events: []history.Event{round(1, "a", "a b"), round(2, "b", "a b")}},
		"two verdicts":                                 {events: []history.Event{round(1, "a", "a b"), round(2, "b", "b c")}, found: []string{"round"}},
		"a round without its member":                   {events: []history.Event{round(1, "a", "b c")}, found: []string{"round"}},
		"a round of too few":                           {events: []history.Event{round(1, "a", "a")}, found: []string{"round"}},
		"a round is over, and nobody within":           {events: []history.Event{within(1, "a"), left(5, "b")}},
		"a round is over, and one within":              {events: []history.Event{within(1, "a"), left(5, "b"), within(7, "a")}, found: []string{"round"}},
		"one outcome":                                  {events: []history.Event{outcome(1, "s", "committed"), outcome(2, "coordinator", "committed")}},
		"two outcomes":                                 {events: []history.Event{outcome(1, "s", "committed"), outcome(2, "coordinator", "aborted")}, found: []string{"outcome"}},
		"committed against a vote": {events: []history.Event{
			{Kind: history.Outcome, Mode: "vote", Thing: "tx", Party: "s", Value: "abort", At: 1}, outcome(2, "t", "committed"),
		}, found: []string{"outcome"}},
		"the delay after a death":         {events: []history.Event{act(1, "a", 1, of("late", 0)), act(600, "b", 2, of("late", 0))}},
		"too soon after a death":          {events: []history.Event{act(1, "a", 1, of("late", 0)), act(300, "b", 2, of("late", 0))}, found: []string{"delay"}},
		"soon after it was given up":      {events: []history.Event{act(1, "a", 1, of("late", 0)), {Kind: history.Over, Thing: "late", Party: "a", Token: 1, Value: history.GivenUp, At: 3 * ms}, act(5, "b", 2, of("late", 0))}},
		"a process that stays as it is":   {events: levels(50, 50)},
		"a process with more goroutines":  {events: levels(50, 900), found: []string{"level"}},
		"a process that leaves something": {events: []history.Event{{Kind: history.Level, Value: "end", Party: "w", Token: 99, At: 1}}, found: []string{"level"}},
		"compare and set":                 {events: []history.Event{wrote(1, "x", 0, cas("")), wrote(3, "y", 0, cas("x")), read(5, "y")}},
		"a lost update":                   {events: []history.Event{wrote(1, "x", 0, cas("")), wrote(3, "y", 0, cas("x")), wrote(5, "z", 0, cas("x"))}, found: []string{"porcupine"}},

		"one GUID twice in a queue":                        {events: []history.Event{{Kind: history.Twice, Thing: "/line", Value: "g", At: ms}}, found: []string{"twice"}},
		"one GUID twice in a queue, by a rival's doing":    {events: []history.Event{{Kind: history.Expired, Party: "w0", From: 3 * ms, At: 4 * ms}, {Kind: history.Twice, Thing: "/line", Value: "g", At: 900 * ms}}},
		"a commit that comes late":                         {events: []history.Event{readMark(1, history.Missing), readMark(5, history.There)}, found: []string{"late"}},
		"a commit that comes late, by a rival's doing":     {events: []history.Event{readMark(1, history.Missing), {Kind: history.Expired, Party: "w0", From: 3 * ms, At: 4 * ms}, readMark(5, history.There)}},
		"a commit that never comes":                        {events: []history.Event{readMark(1, history.Missing), readMark(5, history.Missing)}},
		"a commit that is there":                           {events: []history.Event{readMark(1, history.There), readMark(5, history.There)}},
		"told again of a transaction":                      {events: []history.Event{heard(1, 2, ""), heard(3, 4, "")}},
		"told again of a transaction that is acknowledged": {events: []history.Event{heard(1, 2, ""), heard(0, 3, history.Confirmed), heard(4, 5, "")}, found: []string{"outcome"}},
		"told twice before it is acknowledged":             {events: []history.Event{heard(1, 2, ""), heard(0, 4, history.Confirmed), heard(3, 5, "")}},

		"every instance moves":             {events: slots(true, true)},
		"one instance of two waits":        {events: slots(true, false), found: []string{"instance"}},
		"one instance waits, and is dead":  {events: slots(false, false)},
		"one waits, and others are drawn":  {events: drawn(99)},
		"one waits, and never is drawn":    {events: drawn(101), found: []string{"instance"}},
		"one waits for who holds for long": {events: append(slots(true, false), holds("moving/line", 3000))},
		"one waits, and who held is gone":  {events: append(slots(true, false), holds("moving/line", 9)), found: []string{"instance"}},
		"one waits, and another is held":   {events: append(slots(true, false), holds("moving/other", 3000)), found: []string{"instance"}},

		"everything moves":         {events: []history.Event{moved(1, "moving"), mark(10, history.CalmBegan), moved(2000, "moving"), mark(4000, history.CalmEnded)}},
		"nothing moves":            {events: []history.Event{moved(1, "moving"), mark(10, history.CalmBegan), mark(4000, history.CalmEnded)}, found: []string{"liveness"}},
		"a calm that is too short": {events: []history.Event{moved(1, "moving"), mark(10, history.CalmBegan), mark(1000, history.CalmEnded)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := make(map[string]bool)
			var texts []string
			for _, v := range check.All(check.Run{Settings: settings, Events: c.events}) {
				found[v.Check] = true
				texts = append(texts, v.String())
			}
			expected := make(map[string]bool)
			for _, f := range c.found {
				expected[f] = true
			}
			require.Equal(t, expected, found, strings.Join(texts, "\n"))
		})
	}
}

// The report of a standstill has the last step of each worker in that workload, in its newest
// incarnation, and the znodes.
func TestAStandstillIsTold(t *testing.T) {
	t.Parallel()
	step := func(at int64, work, party, what string) history.Event {
		return history.Event{Kind: history.Step, Work: work, Party: party, Value: what, At: at * ms}
	}
	standstill := func(at int64, work, path string) history.Event {
		return history.Event{Kind: history.Standstill, Work: work, Thing: path, Value: "as it is", At: at * ms}
	}
	mark := func(at int64, kind history.Kind) history.Event { return history.Event{Kind: kind, At: at * ms} }
	run := check.Run{Settings: check.Settings{Works: []string{"double"}, Settle: 3 * time.Second}, Events: []history.Event{
		moved(1, "double"), step(2, "double", "w0.1", "enters"), step(3, "double", "w1.1", "leaves"), step(4, "double", "w0.2", "begun"), step(5, "lock", "w0.2", "waits"),
		standstill(6, "double", "/double/before"),
		mark(10, history.CalmBegan), standstill(4000, "double", "/double/rounds"), standstill(4001, "lock", "/lock/line"), standstill(4002, "", "w0.2"), mark(4010, history.CalmEnded),
		step(5000, "double", "w1.1", "ended"),
	}}
	all := check.All(run)
	require.Len(t, all, 1)
	require.Equal(t, []string{"w0.2 since 0.004: begun", "w1.1 since 0.003: leaves", "/double/rounds as it is", "w0.2 as it is"}, all[0].More)
	require.Contains(t, all[0].String(), "nothing moved for 4.0 s after the last fault\n    w0.2 since")
}
