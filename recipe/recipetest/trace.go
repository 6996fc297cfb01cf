package recipetest

import (
	"flag"
	"fmt"
	"reflect"
	"strings"

	"github.com/troupe-go/troupe/machine"
)

var rewrite = flag.Bool("recipetest.rewrite", false, "write what the machines do into testdata")

// T are the methods of testing.T that this package needs.
type T interface {
	Helper()
	Logf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Trace is a story in Go: the events of a machine and its effects, to be compared with a golden
// file that a reader can follow.
type Trace struct {
	t       T
	machine machine.Machine
	out     strings.Builder
	seen    func(from string, ev machine.Event, to string)
}

// NewTrace begins a story of a machine.
func NewTrace(t T, m machine.Machine) *Trace { return &Trace{t: t, machine: m} }

// Transitions sets a function that gets every step: the machine's phase before, the event, the
// phase after. The machine needs a method Phase() string.
func (tr *Trace) Transitions(seen func(from string, ev machine.Event, to string)) { tr.seen = seen }

// Say writes a line of prose.
func (tr *Trace) Say(prose string) { fmt.Fprintf(&tr.out, "# %s\n", prose) }

// Tell passes events to the machine, one after the other, and returns the effects of all.
func (tr *Trace) Tell(events ...machine.Event) []machine.Effect {
	var all []machine.Effect
	for _, ev := range events {
		from := phase(tr.machine)
		fmt.Fprintf(&tr.out, "> %s\n", Format(ev))
		effects := tr.machine.Step(ev)
		for _, e := range effects {
			fmt.Fprintf(&tr.out, "    %s\n", Format(e))
		}
		if tr.seen != nil {
			tr.seen(from, ev, phase(tr.machine))
		}
		all = append(all, effects...)
	}
	tr.out.WriteString("\n")
	return all
}

// Compare compares the story with testdata/name.txt; with -recipetest.rewrite it writes it there.
func (tr *Trace) Compare(name string) {
	tr.t.Helper()
	Golden(tr.t, name+".txt", Fold(tr.out.String()))
}

const (
	widest = 160 // columns of a line in a trace
	indent = "        "
)

// Fold breaks the lines of a text that are wider than 160 columns, as [Trace.Compare] does: at a
// space or behind a comma, if there is one. The rest of a line is indented, and in prose begins
// with "#".
func Fold(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		next := indent
		if strings.HasPrefix(line, "#") {
			next = "# "
		}
		rest := []rune(strings.TrimSuffix(line, "\n"))
		for len(rest) > widest {
			cut, from := breakAt(rest)
			out.WriteString(string(rest[:cut]) + "\n")
			rest = append([]rune(next), rest[from:]...)
		}
		out.WriteString(string(rest) + line[len(strings.TrimSuffix(line, "\n")):])
	}
	return out.String()
}

// breakAt is where a line that is too wide is cut, and where the next one begins.
func breakAt(line []rune) (cut, from int) {
	comma, found := widest, false
	for k := widest; k > widest/2; k-- {
		switch {
		case line[k] == ' ':
			return k, k + 1
		case !found && line[k-1] == ',':
			comma, found = k, true
		}
	}
	return comma, comma
}

func phase(m machine.Machine) string {
	if p, ok := m.(interface{ Phase() string }); ok {
		return p.Phase()
	}
	return ""
}

// difference shows the first lines that differ.
func difference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := 0; i < len(a) || i < len(b); i++ {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			from := max(0, i-3)
			return fmt.Sprintf("line %d\nwas:\n%s\n\nis:\n%s", i+1, strings.Join(a[from:min(len(a), i+8)], "\n"), strings.Join(b[from:min(len(b), i+8)], "\n"))
		}
	}
	return ""
}

// Format writes an event or an effect in one line: its type and the fields that are not zero.
func Format(v any) string {
	if s, ok := v.(fmt.Stringer); ok {
		return s.String()
	}
	r := reflect.ValueOf(v)
	if r.Kind() != reflect.Struct {
		return fmt.Sprintf("%v", v)
	}
	var b strings.Builder
	b.WriteString(r.Type().Name())
	for i := range r.NumField() {
		f := r.Field(i)
		if f.IsZero() {
			continue
		}
		name := r.Type().Field(i).Name
		switch {
		case f.Kind() == reflect.Slice && f.Type().Elem().Kind() == reflect.Uint8:
			fmt.Fprintf(&b, " %s=%q", name, f.Bytes())
		case f.Kind() == reflect.Slice && f.Type().Elem().Kind() == reflect.Interface:
			fmt.Fprintf(&b, " %s=[", name)
			for j := range f.Len() {
				b.WriteString(strings.Repeat(" | ", min(j, 1)) + Format(f.Index(j).Interface()))
			}
			b.WriteString("]")
		case f.Kind() == reflect.String:
			fmt.Fprintf(&b, " %s=%s", name, f.String())
		default:
			fmt.Fprintf(&b, " %s=%+v", name, f)
		}
	}
	return b.String()
}
