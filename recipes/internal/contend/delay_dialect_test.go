package contend_test

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/internal/contend"
)

// delaySubject stands where its delay does; stories tell where the machine stands, too.
func delaySubject() recipetest.Subject {
	m := contend.New(contend.Config{Parent: parent, Delay: 1})
	return recipetest.Subject{
		Machine: m,
		State:   func() string { return m.Delay().String() },
		At:      func() string { return m.Delay().String() + ", " + m.State().String() },
	}
}

// delays: in a story "lock-5" is the contender lock-0000000005.
var delays = recipetest.Dialect{
	Folder: "delay",
	New:    func([]string) recipetest.Subject { return delaySubject() },
	Path: func(short string) string {
		head, n, _ := strings.Cut(short, "-")
		i, _ := strconv.Atoi(n)
		return fmt.Sprintf("%s/%s-%010d", parent, head, i)
	},
	Short: delayShort,
	Event: delayEvent,
	Show:  delayShow,
}

func delayShort(path string) string {
	_, full := znode.Split(path)
	c, _ := znode.ParseContender(full)
	return fmt.Sprintf("%s%d", c.Prefix, c.Seq)
}

func delayEvent(p *recipetest.Teller, verb string, w recipetest.Words) machine.Event {
	if verb != "recorded" {
		return nil
	}
	return machine.Recorded{Epoch: p.Epoch(w), Ask: w.Ask, Token: w.Number("token", 0), Version: int32(w.Number("version", 0)), Err: w.Err()}
}

func delayShow(e machine.Effect) string {
	switch e := e.(type) {
	case machine.Enter:
		if e.Replace != "" {
			return "enter in place of " + delayShort(e.Replace)
		}
		return "enter"
	case machine.List:
		return "list"
	case machine.Read:
		return "read " + delayShort(e.Path)
	case machine.Wake:
		if e.After > 0 {
			return "delay"
		}
		return "wake"
	case machine.Record:
		return fmt.Sprintf("record token=%d while %s stands, version=%d", e.Token, delayShort(e.Own), e.Version)
	case machine.Release:
		return "release " + delayShort(e.Path) + " with the record"
	case machine.End:
		return fmt.Sprintf("end %d cause=%d", e.Claim, e.Cause)
	}
	return ""
}
