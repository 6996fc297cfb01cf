package recipetest

import (
	"strings"

	"github.com/troupe-go/troupe/machine"
)

// Teller translates between a story's lines and a machine. These are the events that it knows; what
// is in brackets may be left out:
//
//	want 1 [once] [try]       withdraw 1 [lost]       release 1       hold-ended 1       defer 1
//	epoch 2 [session=7] [untrusted]       epoch-end       trust-end       trust       suspend       resume
//	entered a-5 [czxid=50 owner=7] [err=refused]       left a-5
//	listed [a-5 b-6]       seen a-5 [missing] [version=1 czxid=50 owner=7 data=two·words↵]
//	seen a-5 same-session    held a-5    holder-released a-5
//	changed a-5       deleted a-5       woke
//
// They are of the present epoch, unless epoch=1 says another. An answer is to the last request of
// its kind, unless #3 says to which.
type Teller struct {
	t       T
	dialect Dialect
	subject Subject
	taken   Steps
	epoch   uint64
	session int64
	asked   map[string]uint64 // the last number of each kind of request: an answer without a number is to that one
}

// tell plays one line.
func (p *Teller) tell(line string) string {
	words := strings.Fields(line)
	if words[0] == "new" {
		p.subject, p.epoch = p.dialect.New(words[1:]), 0
		return "= " + p.subject.Where() + "\n"
	}
	verb, w := words[0], parse(words[1:])
	if meant, ok := meanings[verb]; ok {
		verb = meant
	}
	if w.Ask == 0 {
		w.Ask = p.asked[verb+p.answered(verb, w)]
	}
	ev := p.event(verb, w)
	var out strings.Builder
	from := p.subject.State()
	for _, e := range p.subject.Step(ev) {
		p.note(e)
		out.WriteString("  " + p.show(e) + "\n")
	}
	p.taken.add(from, ev, p.subject.State())
	out.WriteString("= " + p.subject.Where() + "\n")
	return out.String()
}

// answered is which of several requests of a kind an answer is to.
func (p *Teller) answered(verb string, w Words) string {
	if verb == "seen" || verb == "written" {
		return p.Path(w)
	}
	return ""
}

// note remembers a request's number.
func (p *Teller) note(e machine.Effect) {
	switch e := e.(type) {
	case machine.Enter:
		p.asked["listed"] = e.Ask
	case machine.List:
		p.asked["listed"] = e.Ask
	case machine.Read:
		p.asked["seen"+e.Path] = e.Ask
	case machine.Transact:
		p.asked["written"+e.Ops[0].Path] = e.Ask
	case machine.Record:
		p.asked["recorded"] = e.Ask
	case machine.Wake:
		p.asked["woke"] = e.Ask
	}
}

// Path is the first word's.
func (p *Teller) Path(w Words) string { return p.dialect.Path(w.First()) }

// Epoch is the present one, unless the line says another.
func (p *Teller) Epoch(w Words) uint64 { return uint64(w.Number("epoch", int64(p.epoch))) }

// meanings are other words for the same events.
var meanings = map[string]string{
	"holdended": "hold-ended", "deferred": "defer", "epochended": "epoch-end", "trustended": "trust-end", "trustgained": "trust",
	"suspended": "suspend", "resumed": "resume",
}

// event makes a line an event.
func (p *Teller) event(verb string, w Words) machine.Event {
	if p.dialect.Event != nil {
		if ev := p.dialect.Event(p, verb, w); ev != nil {
			return ev
		}
	}
	for _, kind := range []func(string, Words) machine.Event{wishing, p.notice, p.answer} {
		if ev := kind(verb, w); ev != nil {
			return ev
		}
	}
	p.t.Fatalf("unknown event %q", verb)
	return nil
}

func wishing(verb string, w Words) machine.Event {
	switch verb {
	case "want":
		return machine.Wanted{Claim: w.Claim(), Once: w.Has("once") || w.Has("try"), Try: w.Has("try")}
	case "withdraw":
		return machine.Withdrawn{Claim: w.Claim(), Lost: w.Has("lost")}
	case "release":
		return machine.Released{Claim: w.Claim()}
	case "hold-ended":
		return machine.HoldEnded{Claim: w.Claim()}
	case "defer":
		return machine.Deferred{Claim: w.Claim()}
	}
	return nil
}

var happened = map[string]machine.Change{
	"changed": machine.DataChanged, "deleted": machine.Deleted, "held": machine.Held, "holder-released": machine.HolderReleased,
}

func (p *Teller) notice(verb string, w Words) machine.Event {
	epoch := p.Epoch(w)
	switch verb {
	case "epoch":
		p.epoch, p.session = uint64(w.Claim()), w.Number("session", 7)
		return machine.EpochBegan{Epoch: p.epoch, SessionID: p.session, Trusted: !w.Has("untrusted")}
	case "epoch-end":
		return machine.EpochEnded{Epoch: epoch}
	case "trust-end":
		return machine.TrustEnded{Epoch: epoch}
	case "trust":
		return machine.TrustGained{Epoch: epoch}
	case "suspend":
		return machine.Suspended{Epoch: epoch}
	case "resume":
		return machine.Resumed{Epoch: epoch}
	case "deleted", "changed", "held", "holder-released":
		return machine.Fired{Epoch: epoch, Path: p.Path(w), Change: happened[verb]}
	}
	return nil
}

func (p *Teller) answer(verb string, w Words) machine.Event {
	epoch := p.Epoch(w)
	switch verb {
	case "entered":
		j := machine.Entered{Epoch: epoch, Path: p.Path(w), Err: w.Err(), Czxid: w.Number("czxid", 0)}
		if j.Czxid != 0 { // if not, the answer does not tell
			j.Owner = w.Number("owner", p.session)
		}
		return j
	case "listed":
		l := machine.Listed{Epoch: epoch, Ask: w.Ask, Err: w.Err()}
		for _, short := range w.Plain {
			l.Names = append(l.Names, p.name(short))
		}
		return l
	case "seen":
		return p.seen(w)
	case "left":
		return machine.Removed{Epoch: epoch, Path: p.Path(w)}
	case "woke":
		return machine.Woke{Ask: w.Ask}
	}
	return nil
}

func (p *Teller) seen(w Words) machine.Event {
	s := machine.Seen{Epoch: p.Epoch(w), Path: p.Path(w), Ask: w.Ask, Err: w.Err()}
	if s.Err == nil && !w.Has("missing") && !w.Has("nothing") {
		s.Exists, s.SameSession = true, w.Has("same-session")
		s.Stat.Version = int32(w.Number("version", 0))
		s.Stat.Czxid, s.Stat.Owner = w.Number("czxid", 0), w.Number("owner", p.session)
		if data, ok := w.Value("data"); ok {
			s.Data = []byte(strings.NewReplacer("·", " ", "↵", "\n").Replace(data))
		}
	}
	return s
}

func (p *Teller) name(short string) string {
	path := p.dialect.Path(short)
	return path[strings.LastIndex(path, "/")+1:]
}
