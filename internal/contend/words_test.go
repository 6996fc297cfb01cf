package contend_test

import (
	"fmt"
	"strings"

	"github.com/troupe-go/troupe/internal/machine"
)

// event makes a line of a story an event. Answers are of the present epoch unless they say another.
func (p *teller) event(verb string, a args) machine.Event {
	epoch := uint64(a.number("epoch", int64(p.epoch)))
	switch verb {
	case "epoch":
		p.epoch, p.session = uint64(a.claim()), a.number("session", 7)
		return machine.EpochBegan{Epoch: p.epoch, SessionID: p.session, Trusted: !a.has("untrusted")}
	case "joined":
		return p.joined(epoch, a)
	case "listed":
		return machine.Listed{Epoch: epoch, Ask: a.ask, Names: names(a.words), Err: a.err()}
	case "seen":
		return p.sight(epoch, a)
	case "left":
		return machine.Left{Epoch: epoch, Path: a.path()}
	case "written":
		return machine.Written{Epoch: epoch, Ask: a.ask, Stale: a.has("stale"), Err: a.err()}
	case "crowd":
		return machine.Fired{Epoch: epoch, Path: parent, Children: true}
	case "deleted", "changed":
		return machine.Fired{Epoch: epoch, Path: a.path(), Deleted: verb == "deleted"}
	case "exchanged":
		return p.exchanged(epoch, a)
	case "recovered":
		return machine.Recovered{Epoch: epoch, Path: a.path(), Spent: a.has("spent")}
	case "woke":
		return machine.Woke{Ask: a.ask}
	}
	if ev := wished(verb, a); ev != nil {
		return ev
	}
	return p.noticed(verb, epoch)
}

func wished(verb string, a args) machine.Event {
	switch verb {
	case "want":
		return machine.Wanted{Claim: a.claim(), Once: a.has("once") || a.has("try"), Try: a.has("try")}
	case "withdraw":
		return machine.Withdrawn{Claim: a.claim()}
	case "release":
		return machine.Released{Claim: a.claim()}
	case "hold-ended":
		return machine.HoldEnded{Claim: a.claim()}
	case "downgrade":
		return machine.Downgraded{Claim: a.claim()}
	case "defer":
		return machine.Deferred{Claim: a.claim()}
	}
	return nil
}

func (p *teller) noticed(verb string, epoch uint64) machine.Event {
	switch verb {
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
	}
	p.t.Fatalf("unknown event %q", verb)
	return nil
}

// joined is an answer that tells the Czxid, if the story does.
func (p *teller) joined(epoch uint64, a args) machine.Event {
	j := machine.Joined{Epoch: epoch, Path: a.path(), Err: a.err()}
	if j.Czxid = a.number("czxid", 0); j.Czxid != 0 {
		j.Owner = a.number("owner", p.session)
	}
	return j
}

func (p *teller) exchanged(epoch uint64, a args) machine.Event {
	x := machine.Exchanged{Epoch: epoch, Path: a.path(), Gone: a.has("gone"), Err: a.err()}
	if by, ok := a.value["by"]; ok {
		x.New = parent + "/" + name(by)
	}
	return x
}

func (p *teller) sight(epoch uint64, a args) machine.Event {
	s := machine.Seen{Epoch: epoch, Path: a.path(), Ask: a.ask, Err: a.err()}
	if s.Err == nil && !a.has("missing") {
		s.Exists = true
		s.Version = int32(a.number("version", 0))
		s.Czxid, s.Owner = a.number("czxid", 0), a.number("owner", p.session)
		if data, ok := a.value["data"]; ok {
			s.Data = []byte(strings.NewReplacer("·", " ", "↵", "\n").Replace(data))
		}
	}
	return s
}

func names(short []string) []string {
	var full []string
	for _, s := range short {
		full = append(full, name(s))
	}
	return full
}

// show is an effect as a story tells it.
func show(e machine.Effect) string {
	switch e := e.(type) {
	case machine.Join:
		if e.Replace != "" {
			return fmt.Sprintf("  join #%d in place of %s", e.Ask, short(e.Replace))
		}
		return fmt.Sprintf("  join #%d", e.Ask)
	case machine.List:
		if e.Watch {
			return fmt.Sprintf("  list #%d and watch", e.Ask)
		}
		return fmt.Sprintf("  list #%d", e.Ask)
	case machine.Read:
		if e.Watch {
			return fmt.Sprintf("  read #%d %s and watch", e.Ask, short(e.Path))
		}
		return fmt.Sprintf("  read #%d %s", e.Ask, short(e.Path))
	case machine.Leave:
		return "  leave " + short(e.Path)
	case machine.Write:
		s := fmt.Sprintf("  write #%d %s version=%d data=%s", e.Ask, short(e.Path), e.Version, strings.NewReplacer(" ", "·", "\n", "↵").Replace(string(e.Data)))
		if e.Guard.Path != "" {
			s += fmt.Sprintf(" if %s version=%d", short(e.Guard.Path), e.Guard.Version)
		}
		return s
	case machine.Exchange:
		return fmt.Sprintf("  exchange %s token=%d", short(e.Path), e.Token)
	case machine.Wake:
		return fmt.Sprintf("  wake #%d try=%d", e.Ask, e.Try)
	}
	return told(e)
}

// told is an effect that goes to the application.
func told(e machine.Effect) string {
	switch e := e.(type) {
	case machine.Grant:
		return fmt.Sprintf("  grant %d %s token=%d", e.Claim, short(e.Path), e.Token)
	case machine.End:
		if e.Cause == machine.Unwatched {
			return fmt.Sprintf("  end %d unwatched: %v", e.Claim, e.Err)
		}
		return fmt.Sprintf("  end %d %s", e.Claim, map[machine.Cause]string{machine.Deleted: "deleted", machine.Expired: "expired"}[e.Cause])
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
		s := fmt.Sprintf("  publish %v ahead=%d", e.Standing.Phase, e.Standing.Ahead)
		if e.Standing.Stale {
			s += " stale"
		}
		return s
	}
	return fmt.Sprintf("  %T", e)
}
