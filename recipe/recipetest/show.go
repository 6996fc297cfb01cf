package recipetest

import (
	"fmt"
	"strings"

	"github.com/troupe-go/troupe/machine"
)

// show is an effect as a story tells it.
func (p *Teller) show(e machine.Effect) string {
	if p.dialect.Show != nil {
		if s := p.dialect.Show(e); s != "" {
			return s
		}
	}
	if s := asking(e, p.dialect.Short); s != "" {
		return s
	}
	return telling(e, p.dialect.Short)
}

// asking is an effect that asks something of ZooKeeper, or of the clock.
func asking(e machine.Effect, short func(string) string) string {
	watching := map[bool]string{true: " and watch"}
	switch e := e.(type) {
	case machine.Enter:
		if e.Replace != "" {
			return fmt.Sprintf("enter #%d in place of %s", e.Ask, short(e.Replace))
		}
		return fmt.Sprintf("enter #%d", e.Ask)
	case machine.List:
		return fmt.Sprintf("list #%d%s", e.Ask, watching[e.Watch])
	case machine.Read:
		if e.SameSession {
			return fmt.Sprintf("follow #%d %s", e.Ask, short(e.Path))
		}
		return fmt.Sprintf("read #%d %s%s", e.Ask, short(e.Path), watching[e.Watch])
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

// telling is an effect that goes to the application.
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
		return fmt.Sprintf("publish %v ahead=%d%s", e.Standing.Phase, e.Standing.Ahead, map[bool]string{true: " stale"}[e.Standing.Stale])
	}
	return fmt.Sprintf("%T", e)
}
