package recipetest

import (
	"fmt"
	"strings"

	"github.com/troupe-go/troupe/machine"
)

// Teller makes an event of each line of a story, and a line of each effect. It knows these events;
// words in brackets are optional:
//
//	want 1 [once] [try]       withdraw 1 [lost]       release 1       hold-ended 1       defer 1
//	epoch 2 [session=7] [untrusted]       epoch-end       trust-end       trust       suspend       resume
//	entered a-5 [czxid=50 owner=7] [err=refused]       left a-5
//	listed [a-5 b-6]       seen a-5 [missing] [version=1 czxid=50 owner=7 data=two·words↵]
//	seen a-5 same-session    held a-5    holder-released a-5
//	changed a-5       deleted a-5       woke
//
// An event is of the present epoch, unless it has a word like epoch=1. An answer is to the last
// request of its kind, unless it has a number like #3.
type Teller struct {
	t       T
	dialect Dialect
	subject Subject
	taken   Steps
	epoch   uint64
	session int64
	asked   map[string]uint64 // the number of the last request of each kind
}

// tell plays one line, and returns the effects and the state.
func (tl *Teller) tell(line string) string {
	words := strings.Fields(line)
	if words[0] == "new" {
		tl.subject, tl.epoch = tl.dialect.New(words[1:]), 0
		return "= " + tl.subject.Where() + "\n"
	}
	verb, w := words[0], parse(words[1:])
	if meant, ok := meanings[verb]; ok {
		verb = meant
	}
	if w.Ask == 0 {
		w.Ask = tl.asked[verb+tl.answered(verb, w)]
	}
	ev := tl.event(verb, w)
	var out strings.Builder
	from := tl.subject.State()
	for _, e := range tl.subject.Step(ev) {
		tl.remember(e)
		out.WriteString("  " + tl.show(e) + "\n")
	}
	tl.taken.add(from, ev, tl.subject.State())
	out.WriteString("= " + tl.subject.Where() + "\n")
	return out.String()
}

// answered is the path of an answer, if there may be several requests of its kind.
func (tl *Teller) answered(verb string, w Words) string {
	if verb == "seen" || verb == "written" {
		return tl.Path(w)
	}
	return ""
}

// remember stores the number of a request.
func (tl *Teller) remember(e machine.Effect) {
	switch e := e.(type) {
	case machine.Enter:
		tl.asked["listed"] = e.Ask
	case machine.List:
		tl.asked["listed"] = e.Ask
	case machine.Read:
		tl.asked["seen"+e.Path] = e.Ask
	case machine.Transact:
		tl.asked["written"+e.Ops[0].Path] = e.Ask
	case machine.Record:
		tl.asked["recorded"] = e.Ask
	case machine.Wake:
		tl.asked["woke"] = e.Ask
	}
}

// Path is the path of the znode that the first word names.
func (tl *Teller) Path(w Words) string { return tl.dialect.Path(w.First()) }

// Epoch is the epoch of a line: the present one, unless the line has another.
func (tl *Teller) Epoch(w Words) uint64 { return uint64(w.Number("epoch", int64(tl.epoch))) }

// meanings are other words for the same events.
var meanings = map[string]string{
	"holdended": "hold-ended", "deferred": "defer", "epochended": "epoch-end", "trustended": "trust-end", "trustgained": "trust",
	"suspended": "suspend", "resumed": "resume",
}

// event makes an event of a line.
func (tl *Teller) event(verb string, w Words) machine.Event {
	if tl.dialect.Event != nil {
		if ev := tl.dialect.Event(tl, verb, w); ev != nil {
			return ev
		}
	}
	for _, kind := range []func(string, Words) machine.Event{intent, tl.notice, tl.answer} {
		if ev := kind(verb, w); ev != nil {
			return ev
		}
	}
	tl.t.Fatalf("unknown event %q", verb)
	return nil
}

func intent(verb string, w Words) machine.Event {
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

func (tl *Teller) notice(verb string, w Words) machine.Event {
	epoch := tl.Epoch(w)
	switch verb {
	case "epoch":
		tl.epoch, tl.session = uint64(w.Claim()), w.Number("session", 7) // the first word is its number
		return machine.EpochBegan{Epoch: tl.epoch, SessionID: tl.session, Trusted: !w.Has("untrusted")}
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
		return machine.Fired{Epoch: epoch, Path: tl.Path(w), Change: happened[verb]}
	}
	return nil
}

func (tl *Teller) answer(verb string, w Words) machine.Event {
	epoch := tl.Epoch(w)
	switch verb {
	case "entered":
		j := machine.Entered{Epoch: epoch, Path: tl.Path(w), Err: w.Err(), Czxid: w.Number("czxid", 0)}
		if j.Czxid != 0 { // otherwise the answer does not tell the owner either
			j.Owner = w.Number("owner", tl.session)
		}
		return j
	case "listed":
		l := machine.Listed{Epoch: epoch, Ask: w.Ask, Err: w.Err()}
		for _, short := range w.Plain {
			l.Names = append(l.Names, tl.name(short))
		}
		return l
	case "seen":
		return tl.seen(w)
	case "left":
		return machine.Removed{Epoch: epoch, Path: tl.Path(w)}
	case "woke":
		return machine.Woke{Ask: w.Ask}
	}
	return nil
}

func (tl *Teller) seen(w Words) machine.Event {
	s := machine.Seen{Epoch: tl.Epoch(w), Path: tl.Path(w), Ask: w.Ask, Err: w.Err()}
	if s.Err == nil && !w.Has("missing") && !w.Has("nothing") {
		s.Exists, s.SameSession = true, w.Has("same-session")
		s.Stat.Version = int32(w.Number("version", 0))
		s.Stat.Czxid, s.Stat.Owner = w.Number("czxid", 0), w.Number("owner", tl.session)
		if data, ok := w.Value("data"); ok {
			s.Data = []byte(strings.NewReplacer("·", " ", "↵", "\n").Replace(data))
		}
	}
	return s
}

func (tl *Teller) name(short string) string {
	path := tl.dialect.Path(short)
	return path[strings.LastIndex(path, "/")+1:]
}

// show is an effect as a line of a story.
func (tl *Teller) show(e machine.Effect) string {
	if tl.dialect.Show != nil {
		if s := tl.dialect.Show(e); s != "" {
			return s
		}
	}
	if s := asking(e, tl.dialect.Short); s != "" {
		return s
	}
	return telling(e, tl.dialect.Short)
}

// asking is a request to ZooKeeper, or to the clock.
func asking(e machine.Effect, short func(string) string) string {
	switch e := e.(type) {
	case machine.Enter:
		if e.Replace != "" {
			return fmt.Sprintf("enter #%d in place of %s", e.Ask, short(e.Replace))
		}
		return fmt.Sprintf("enter #%d", e.Ask)
	case machine.List:
		return fmt.Sprintf("list #%d%s", e.Ask, textIf(e.Watch, " and watch"))
	case machine.Read:
		if e.SameSession {
			return fmt.Sprintf("follow #%d %s", e.Ask, short(e.Path))
		}
		return fmt.Sprintf("read #%d %s%s", e.Ask, short(e.Path), textIf(e.Watch, " and watch"))
	case machine.Unwatch:
		return "unwatch " + short(e.Path)
	case machine.Remove:
		return "leave " + short(e.Path)
	case machine.Transact:
		set := e.Ops[0]
		s := fmt.Sprintf("write #%d %s version=%d data=%s", e.Ask, short(set.Path), set.Version, strings.NewReplacer(" ", "·", "\n", "↵").Replace(string(set.Data)))
		if len(e.Ops) > 1 {
			check := e.Ops[1]
			s += fmt.Sprintf(" if %s version=%d", short(check.Path), check.Version)
		}
		return s
	case machine.Downgrade:
		return fmt.Sprintf("downgrade %s token=%d", short(e.Path), e.Token)
	case machine.Wake:
		if e.After > 0 {
			return fmt.Sprintf("wake #%d after=%d", e.Ask, e.After)
		}
		return fmt.Sprintf("wake #%d try=%d", e.Ask, e.Try)
	case machine.Cancel:
		return fmt.Sprintf("cancel #%d", e.Ask)
	}
	return ""
}

func textIf(is bool, text string) string {
	if is {
		return text
	}
	return ""
}

// telling is an effect for the application.
func telling(e machine.Effect, short func(string) string) string {
	switch e := e.(type) {
	case machine.Grant:
		return fmt.Sprintf("grant %d %s token=%d", e.Claim, short(e.Path), e.Token)
	case machine.End:
		if e.Cause == machine.EndUnwatched {
			return fmt.Sprintf("end %d unwatched: %v", e.Claim, e.Err)
		}
		return fmt.Sprintf("end %d %s", e.Claim, map[machine.Cause]string{machine.EndDeleted: "deleted", machine.EndExpired: "expired"}[e.Cause])
	case machine.Revoked:
		return fmt.Sprintf("revoked %d", e.Claim)
	case machine.Freed:
		return fmt.Sprintf("freed %d", e.Claim)
	case machine.Settle:
		if e.Err != nil {
			return fmt.Sprintf("settle %d: %v", e.Claim, e.Err)
		}
		return fmt.Sprintf("settle %d", e.Claim)
	case machine.Publish:
		return fmt.Sprintf("publish %v ahead=%d%s", e.Standing.Phase, e.Standing.Ahead, textIf(e.Standing.Stale, " stale"))
	}
	return fmt.Sprintf("%T", e)
}
