// Stories of a coordinator and of a site, told and compared with testdata. Each is a file there;
// told makes its machine, and event its events.

package protocol_test

import (
	"strings"
	"testing"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/twopc/internal/protocol"
)

// stories are about one transaction, t, of the coordinator c, or b, and the site x. In a path, "!"
// stands for what marks the znodes of its GUID: "tx/t/!vote-x". An answer is to the last request of
// its kind.
var stories = recipetest.Dialect{
	New: told, Event: event, Path: full, Short: shorten,
	Show: func(e machine.Effect) string { return shorten(recipetest.Format(e)) },
}

func full(short string) string {
	return string(root) + "/" + strings.ReplaceAll(short, "!", "_c_"+guid(1)+"-")
}

func shorten(text string) string {
	return strings.NewReplacer(string(root)+"/", "", "_c_"+guid(1)+"-", "!", guid(1), "guid", "Epoch=1 ", "").Replace(text)
}

func TestTraces(t *testing.T) {
	t.Parallel()
	for _, name := range stories.Stories(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stories.Compare(t, &recipetest.Table{}, name)
		})
	}
}

// answered is a machine that is told answers without the numbers of what they answer.
type answered struct {
	machine.Machine
	asked map[string]uint64 // the last request, by what it was
}

func (m *answered) Step(ev machine.Event) []machine.Effect {
	switch e := ev.(type) {
	case machine.Seen:
		e.Ask = m.asked[e.Path]
		ev = e
	case machine.Listed:
		e.Ask = m.asked["list"]
		ev = e
	case machine.MultiSeen:
		e.Ask = m.asked["multi-read"]
		ev = e
	case machine.Transacted:
		e.Ask = m.asked["transact"]
		ev = e
	case machine.Fired:
		e.Epoch = 1
		ev = e
	}
	effects := m.Machine.Step(ev)
	for _, e := range effects {
		switch e := e.(type) {
		case machine.Read:
			m.asked[e.Path] = e.Ask
		case machine.List:
			m.asked["list"] = e.Ask
		case machine.MultiRead:
			m.asked["multi-read"] = e.Ask
		case machine.Transact:
			m.asked["transact"] = e.Ask
		}
	}
	return effects
}

// told is the machine of a story, as far as the story's first words say: "coordinator" and a
// request, of one that is registered; "preparing" and the sites, of one that has begun; "site", of
// one that is registered and has the transaction in its inbox, or what else the words name;
// "starting", of one that is not; and "", of a coordinator that has not begun anything.
func told(words []string) recipetest.Subject {
	m := &answered{protocol.NewCoordinator(root, "c", 1000), map[string]uint64{}}
	phase := m.Machine.(interface{ Phase() string }).Phase
	play := func(events ...machine.Event) {
		for _, ev := range events {
			m.Step(ev)
		}
	}
	done := machine.Transacted{Epoch: 1, Failed: -1, Results: make([]machine.Result, 20)}
	began := machine.EpochBegan{Epoch: 1, SessionID: 7, Trusted: true}
	switch kind := strings.Join(words[:min(1, len(words))], ""); kind {
	case "site", "starting":
		s := protocol.NewSite(root, "x", "g")
		if m.Machine, phase = s, s.Phase; kind == "site" {
			play(began, done, seen("alive/x", "g", machine.Stat{Owner: 7}), seen("inbox/x", "", machine.Stat{}), listed(append(words[1:], "!t-0000000000", "foreign")))
		}
	case "coordinator":
		play(began, request(words[1], words[2:]), done, seen("coordinators/c", "c", machine.Stat{Owner: 7, Czxid: 4}))
	case "preparing":
		play(began, request("begin", words[1:]), done, seen("coordinators/c", "c", machine.Stat{Owner: 7, Czxid: 4}), done,
			seen("tx/t", record("undecided", "c", words[1:]), machine.Stat{}))
	}
	return recipetest.Subject{Machine: m, State: func() string { return "" }, At: phase}
}

func listed(names []string) machine.Listed {
	l := machine.Listed{Epoch: 1}
	for _, name := range names {
		l.Names = append(l.Names, strings.TrimPrefix(full(name), string(root)+"/"))
	}
	return l
}

func seen(short, data string, stat machine.Stat) machine.Seen {
	return machine.Seen{Epoch: 1, Path: full(short), Exists: true, Data: []byte(data), Stat: stat}
}

func record(state, coordinator string, sites []string) string {
	return `{"guid":"` + guid(1) + `","sites":["` + strings.Join(sites, `","`) + `"],"coordinator":"` + coordinator + `","state":"` + state + `"}`
}

func request(what string, of []string) machine.Event {
	switch what {
	case "begin":
		return protocol.Request{N: 1, ID: "t", GUID: guid(1), Sites: of}
	case "ask":
		return protocol.Request{N: 1, Stage: protocol.Asking, Asked: of[0]}
	case "recover":
		return protocol.Request{N: 1, Stage: protocol.Recovering, ID: of[0]}
	case "acknowledge":
		return protocol.Request{N: 1, Stage: protocol.Acknowledging, ID: of[0], GUID: guid(1)}
	}
	return nil
}

// event parses the machine's own events, and those whose words differ from [recipetest.Teller]'s.
func event(p *recipetest.Teller, verb string, w recipetest.Words) machine.Event {
	code := machine.Done
	if w.Err() != nil {
		code = machine.Refused
	}
	switch verb {
	case "close":
		return machine.Closing{}
	case "cast":
		return protocol.Cast{GUID: guid(1), Commit: w.Has("commit")}
	case "ack":
		return protocol.Ack{GUID: guid(1)}
	case "seen":
		return saw(w, code)
	case "listed":
		l := listed(w.Plain)
		l.Code, l.Err = code, w.Err()
		return l
	case "multi-seen": // at the own vote, and the payload
		vote := machine.Seen{Exists: true, Code: code, Err: w.Err()}
		if v, voted := w.Value("vote"); voted {
			vote.Data, vote.Stat.Version = []byte(v), 1
		}
		return machine.MultiSeen{Epoch: 1, Answers: []machine.Event{vote, machine.Seen{Epoch: 1, Exists: true, Data: []byte("pay")}}}
	case "written":
		done := machine.Transacted{Epoch: 1, Code: code, Failed: int(w.Number("at", -1)), Err: w.Err(), Results: make([]machine.Result, 20)}
		for c := machine.NoNode; c <= machine.Unknown; c++ {
			if w.Has(strings.ReplaceAll(c.String(), " ", "-")) {
				done.Code = c
			}
		}
		return done
	}
	return request(verb, w.Plain)
}

func saw(w recipetest.Words, code machine.Code) machine.Event {
	stat := machine.Stat{Version: int32(w.Number("version", 0)), Czxid: w.Number("czxid", 0), Owner: w.Number("owner", 0)}
	data, _ := w.Value("data")
	if state, ok := w.Value("state"); ok {
		by, _ := w.Value("of")
		data = record(state, by, []string{"x"})
		if w.Has("peers") {
			data = strings.Replace(record(state, by, []string{"x", "y"}), `"state"`, `"peers":true,"state"`, 1)
		}
	}
	s := seen(w.First(), strings.ReplaceAll(data, "↵", "\n"), stat)
	s.Exists, s.Code, s.Err = !w.Has("missing") && code == machine.Done, code, w.Err()
	return s
}
