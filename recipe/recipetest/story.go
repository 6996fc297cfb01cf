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

// Subject is a machine that can be asked where it stands.
type Subject struct {
	machine.Machine

	State func() string // as its table has it
	At    func() string // as its stories tell it; nil: State
}

// Where is where it stands, as stories tell it.
func (s Subject) Where() string {
	if s.At == nil {
		return s.State()
	}
	return s.At()
}

// Dialect is how stories of a machine are told: files in a folder of testdata. A story is a
// sequence of blocks: events, a line of dashes, and what the machine does. Lines that begin with
// "#" are prose.
//
//	want 1
//	----
//	  enter #1
//	= Entering
//
// The events and effects of package machine have words of their own: see [Teller].
type Dialect struct {
	Folder string                                               // of its stories, below testdata; "" for testdata itself
	New    func(words []string) Subject                         // what a story begins with, and a line "new", whose other words these are
	Path   func(short string) string                            // of the znode that a story calls that
	Short  func(path string) string                             // what a story calls a znode
	Event  func(tl *Teller, verb string, w Words) machine.Event // its own events; nil for a line that is none of them
	Show   func(e machine.Effect) string                        // the effects that it tells in its own way; "" for others, or nil if there are none
}

// Stories are the names of those in the dialect's folder, sorted.
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

// Compare plays a story, and compares it with what the machine did when it was written. The table
// has to declare every step that it takes. With -recipetest.rewrite the story is written anew.
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

// Play feeds a story's events to a machine and returns the story with what the machine does in it,
// and the steps that it takes.
func (d Dialect) Play(t T, story string) (string, Steps) {
	t.Helper()
	var out strings.Builder
	var block []string
	teller := &Teller{t: t, dialect: d, subject: d.New(nil), taken: Steps{}, asked: map[string]uint64{}}
	skipping := false // what the machine did when the story was written
	for line := range strings.Lines(story) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "" && !skipping && len(block) > 0:
			t.Fatalf("a block without dashes before a blank line: %q", block)
		case line == "":
			skipping = false
			out.WriteString("\n")
		case skipping:
		case strings.HasPrefix(line, "#"):
			out.WriteString(line + "\n")
		case line == "----":
			out.WriteString("----\n")
			for _, event := range block {
				if len(block) > 1 {
					out.WriteString("> " + event + "\n")
				}
				out.WriteString(teller.tell(event))
			}
			block, skipping = nil, true
		default:
			out.WriteString(line + "\n")
			block = append(block, line)
		}
	}
	return out.String(), teller.taken
}

// Taken are the steps that all stories take.
func (d Dialect) Taken(t T) Steps {
	t.Helper()
	taken := Steps{}
	for _, name := range d.Stories(t) {
		_, steps := d.Play(t, read(t, filepath.Join(d.Folder, name+".txt")))
		maps.Copy(taken, steps)
	}
	return taken
}

// Words are the rest of a story's line, behind its verb: #number of the request that is answered,
// plain words, key=value.
type Words struct {
	Ask   uint64 // 0: to the last request of the kind
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

// Has tells whether a plain word is there.
func (w Words) Has(word string) bool { return slices.Contains(w.Plain, word) }

// Value is that of a key.
func (w Words) Value(key string) (string, bool) {
	v, ok := w.value[key]
	return v, ok
}

// Number is the value of a key.
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
