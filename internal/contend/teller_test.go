package contend_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/contend"
	"github.com/troupe-go/troupe/internal/machine"
	"github.com/troupe-go/troupe/internal/znode"
)

// teller translates between a story's lines and a machine. In a story "A:lock-5" is the contender _c_<a GUID made of A's>-lock-0000000005.
type teller struct {
	t       *testing.T
	m       *contend.Machine
	seen    func(from, ev, to string)
	epoch   uint64
	session int64
	asked   map[string]uint64 // the last number of each kind of request: an answer without a number is to that one
}

func newTeller(t *testing.T, seen func(from, ev, to string)) *teller {
	return &teller{t: t, m: contend.New(contend.Config{Parent: parent}), seen: seen, asked: map[string]uint64{}}
}

// note remembers a request's number.
func (p *teller) note(e machine.Effect) {
	switch e := e.(type) {
	case machine.Join:
		p.asked["listed"] = e.Ask
	case machine.List:
		p.asked["listed"] = e.Ask
	case machine.Read:
		p.asked["seen"+e.Path] = e.Ask
	case machine.Write:
		p.asked["written"+e.Path] = e.Ask
	case machine.Wake:
		p.asked["woke"] = e.Ask
	}
}

// tell plays one line.
func (p *teller) tell(line string) string {
	words := strings.Fields(line)
	if words[0] == "new" {
		cfg := contend.Config{Parent: parent}
		switch kind := strings.Join(words[1:], " "); kind {
		case "":
		case "locks":
			cfg.Accept = func(k znode.Kind) bool { return k == znode.Lock }
		case "shared":
			cfg.Rule = contend.Shared()
		case "permits 3":
			cfg.Rule, cfg.Data = contend.AtMost(3), []byte("me")
		default:
			require.Fail(p.t, "unknown machine", kind)
		}
		p.m, p.epoch = contend.New(cfg), 0
		return "= " + p.m.State().String() + "\n"
	}
	a := parse(words[1:])
	if a.ask == 0 && words[0] == "seen" {
		a.ask = p.asked["seen"+a.path()]
	} else if a.ask == 0 && words[0] == "written" {
		a.ask = p.asked["written"+a.path()]
	} else if a.ask == 0 {
		a.ask = p.asked[words[0]]
	}
	ev := p.event(words[0], a)
	var out strings.Builder
	from := p.m.State().String()
	for _, e := range p.m.Step(ev) {
		p.note(e)
		out.WriteString(show(e) + "\n")
	}
	to := p.m.State().String()
	if from != to {
		p.seen(from, contend.EventName(ev), to)
	}
	out.WriteString("= " + to + "\n")
	return out.String()
}

// args are the rest of a line: #number of the request answered, plain words, key=value.
type args struct {
	ask   uint64
	words []string
	value map[string]string
}

func parse(words []string) args {
	a := args{value: map[string]string{}}
	for _, w := range words {
		if n, ok := strings.CutPrefix(w, "#"); ok {
			a.ask, _ = strconv.ParseUint(n, 10, 64)
		} else if k, v, ok := strings.Cut(w, "="); ok {
			a.value[k] = v
		} else {
			a.words = append(a.words, w)
		}
	}
	return a
}

func (a args) has(word string) bool {
	return slices.Contains(a.words, word)
}

func (a args) number(key string, otherwise int64) int64 {
	if v, ok := a.value[key]; ok {
		n, _ := strconv.ParseInt(v, 10, 64)
		return n
	}
	return otherwise
}

func (a args) err() error {
	if e, ok := a.value["err"]; ok {
		return errors.New(e)
	}
	return nil
}

func (a args) claim() machine.Claim {
	n, _ := strconv.ParseUint(a.words[0], 10, 64)
	return machine.Claim(n)
}

// path is the first word's.
func (a args) path() string {
	if len(a.words) == 0 {
		return ""
	}
	if a.words[0] == "limit" {
		return parent
	}
	return parent + "/" + name(a.words[0])
}

// name makes "A:lock-5" a znode's name; without a letter in front it is written out.
func name(short string) string {
	letter, rest, ok := strings.Cut(short, ":")
	if !ok {
		return short
	}
	i := strings.LastIndexAny(rest, "-_")
	if i > 0 && rest[i-1] == '-' {
		i-- // the second dash is a sign
	}
	n, _ := strconv.ParseInt(rest[i+1:], 10, 32)
	return znode.Protect(guid(letter), fmt.Sprintf("%s%010d", rest[:i+1], n))
}

func guid(letter string) znode.GUID {
	x := fmt.Sprintf("%x", letter)
	r := func(n int) string { return strings.Repeat(x, n) }
	return znode.GUID(strings.Join([]string{r(4), r(2), r(2), r(2), r(6)}, "-"))
}

// short is the inverse of name.
func short(path string) string {
	if path == parent {
		return "limit"
	}
	_, full := znode.Split(path)
	c, ok := znode.ParseContender(full)
	if !ok || c.GUID == "" {
		return full
	}
	letter, _ := strconv.ParseUint(string(c.GUID[:2]), 16, 8)
	prefix := c.Prefix
	if c.Marks() {
		prefix = fmt.Sprintf("%s%d-", prefix, c.Weight)
	}
	return fmt.Sprintf("%c:%s%d", rune(letter), prefix, c.Seq)
}
