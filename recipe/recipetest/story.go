package recipetest

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-go/troupe/machine"
)

// Subject is the machine of a story, with the names of its states.
type Subject struct {
	machine.Machine

	State func() string // the state as its table has it
	At    func() string // the state as its stories have it; nil: State
}

// Where is the state as stories have it.
func (s Subject) Where() string {
	if s.At == nil {
		return s.State()
	}
	return s.At()
}

// Dialect is the format of the stories of one machine: text files in a folder of testdata. A story
// is a sequence of events, each followed by the machine's effects and its state. Lines that begin
// with "#" are prose.
//
//	> want 1
//	  enter #1
//	= Entering
//
// The events and effects of package machine have words of their own: see [Teller].
type Dialect struct {
	Folder string                                               // of its stories, below testdata; "" for testdata itself
	New    func(words []string) Subject                         // makes the machine at the begin of a story, and at a line "new" with these words
	Path   func(short string) string                            // the path of a znode by its short name in stories
	Short  func(path string) string                             // the short name of a znode in stories
	Event  func(tl *Teller, verb string, w Words) machine.Event // parses the machine's own events; nil for any other line
	Show   func(e machine.Effect) string                        // formats the effects that have a format of their own; "" for others. nil: none has
}

// Stories are the names of the stories in the dialect's folder, sorted.
func (d Dialect) Stories(t T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", d.Folder, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for i, file := range files {
		files[i] = strings.TrimSuffix(filepath.Base(file), ".txt")
	}
	return files
}

// Compare plays a story, and compares the machine's effects with those in the file. The table has
// to declare every step. With -recipetest.rewrite the file is rewritten.
func (d Dialect) Compare(t T, table *Table, name string) {
	t.Helper()
	file := filepath.Join(d.Folder, name+".txt")
	story, taken := d.Play(t, read(t, file))
	if lacking := table.Undeclared(taken); len(lacking) > 0 {
		t.Fatalf("%s: undeclared: %v", name, lacking)
	}
	Golden(t, file, story)
}

// Golden compares a text with a file below testdata; with -recipetest.rewrite it writes it there.
func Golden(t T, name, now string) {
	t.Helper()
	if *rewrite {
		file := filepath.Join("testdata", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			t.Fatalf("%v", err)
		}
		if err := os.WriteFile(file, []byte(now), 0o600); err != nil {
			t.Fatalf("%v", err)
		}
		return
	}
	if was := read(t, name); was != now {
		t.Fatalf("%s: it tells another story:\n%s", name, difference(was, now))
	}
}

func read(t T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatalf("%v", err)
	}
	return string(text)
}

// Play passes a story's events to a machine. It returns the story with the machine's effects, and
// the steps that it took.
func (d Dialect) Play(t T, story string) (string, Steps) {
	t.Helper()
	var out strings.Builder
	teller := &Teller{t: t, dialect: d, subject: d.New(nil), taken: Steps{}, asked: map[string]uint64{}}
	for line := range strings.Lines(story) {
		line = strings.TrimRight(line, "\n")
		event, told := strings.CutPrefix(line, "> ")
		switch {
		case told:
			out.WriteString(line + "\n" + teller.tell(event))
		case line == "", strings.HasPrefix(line, "#"):
			out.WriteString(line + "\n")
		case strings.HasPrefix(line, "  "), strings.HasPrefix(line, "= "): // the effects in the file
		default:
			t.Fatalf("neither an event nor prose: %q", line)
		}
	}
	return out.String(), teller.taken
}

// Taken are the steps of all stories.
func (d Dialect) Taken(t T) Steps {
	t.Helper()
	taken := Steps{}
	for _, name := range d.Stories(t) {
		_, steps := d.Play(t, read(t, filepath.Join(d.Folder, name+".txt")))
		maps.Copy(taken, steps)
	}
	return taken
}

// Words are the words of a story's line behind its verb: #number of the answered request, plain
// words, key=value.
type Words struct {
	Ask   uint64 // number of the answered request; 0: the last one of the kind
	Plain []string
	value map[string]string
}

func parse(words []string) Words {
	w := Words{value: map[string]string{}}
	for _, word := range words {
		key, value, pair := strings.Cut(word, "=")
		number, numbered := strings.CutPrefix(word, "#")
		switch {
		case numbered:
			w.Ask, _ = strconv.ParseUint(number, 10, 64)
		case pair && key == "ask":
			w.Ask, _ = strconv.ParseUint(value, 10, 64)
		case pair:
			w.value[key] = value
		default:
			w.Plain = append(w.Plain, word)
		}
	}
	return w
}

// First is the first plain word, "" if there is none.
func (w Words) First() string {
	if len(w.Plain) == 0 {
		return ""
	}
	return w.Plain[0]
}

// Has tells whether there is this plain word.
func (w Words) Has(word string) bool { return slices.Contains(w.Plain, word) }

// Value is the value of a key.
func (w Words) Value(key string) (string, bool) {
	v, ok := w.value[key]
	return v, ok
}

// Number is the value of a key as a number.
func (w Words) Number(key string, otherwise int64) int64 {
	if v, ok := w.value[key]; ok {
		n, _ := strconv.ParseInt(v, 10, 64)
		return n
	}
	return otherwise
}

// Err is the value of err, nil if there is none.
func (w Words) Err() error {
	switch e := w.value["err"]; e {
	case "":
		return nil
	case "held":
		return machine.ErrHeld
	default:
		return errors.New(e)
	}
}

// Claim is the first word's number.
func (w Words) Claim() machine.Claim {
	n, _ := strconv.ParseUint(w.First(), 10, 64)
	return machine.Claim(n)
}
