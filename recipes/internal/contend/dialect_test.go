package contend_test

// The words of the stories of contenders in line.

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/internal/contend"
)

// contenders: in a story "A:lock-5" is the contender _c_<a GUID made of A's>-lock-0000000005.
var contenders = recipetest.Dialect{New: told, Path: path, Short: short, Event: event}

// told is the machine of a story.
func told(words []string) recipetest.Subject {
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

// event makes a line an event that contenders alone know.
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
