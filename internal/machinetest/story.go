package machinetest

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/troupe-go/troupe/machine"
)

var rewrite = flag.Bool("rewrite", false, "write what the machine does into testdata")

// Machine is what is tested.
type Machine interface {
	Step(ev machine.Event) []machine.Effect
}

// Subject is a machine that can be asked where it stands.
type Subject struct {
	Machine
	State func() string // as its table has it
	At    func() string // as its stories tell it; nil: State
}

func (s Subject) at() string {
	if s.At == nil {
		return s.State()
	}
	return s.At()
}

// Dialect is how stories of a machine are told.
type Dialect struct {
	New   func(words []string) Subject                        // what a story begins with, and a line "new", whose other words these are
	Path  func(short string) string                           // of the znode that a story calls that
	Short func(path string) string                            // what a story calls a znode
	Event func(p *Teller, verb string, w Words) machine.Event // its own events; nil for a line that is none of them, or nil if it has none
	Show  func(e machine.Effect) string                       // the effects that it tells in its own way; "" for others, or nil if there are none
}

// Stories are those in testdata, by name.
func Stories(t T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	stories := make(map[string]string)
	for _, file := range files {
		stories[strings.TrimSuffix(filepath.Base(file), ".txt")] = read(t, file)
	}
	return stories
}

// Golden is what testdata has in a file, to be compared with what there should be. With -rewrite it
// is written there first.
func Golden(t T, name, now string) string {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(file, []byte(now), 0o600); err != nil {
			t.Fatalf("%v", err)
		}
	}
	return read(t, file)
}

func read(t T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
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
	told := newTeller(t, d)
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
				out.WriteString(told.tell(event))
			}
			block, skipping = nil, true
		default:
			out.WriteString(line + "\n")
			block = append(block, line)
		}
	}
	return out.String(), told.taken
}

// Taken are the steps that all stories take.
func (d Dialect) Taken(t T) Steps {
	t.Helper()
	taken := Steps{}
	for _, story := range Stories(t) {
		_, steps := d.Play(t, story)
		maps.Copy(taken, steps)
	}
	return taken
}
