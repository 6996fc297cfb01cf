package treefile

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// Form is how a file is written.
type Form int

// The forms: JSON Lines has a znode on each line, the others have one object with the paths as
// keys.
const (
	Lines Form = iota
	JSON
	YAML
)

// FormOf is the form that a file's name asks for: YAML by .yaml or .yml, JSON by .json, else JSON
// Lines.
func FormOf(name string) Form {
	switch filepath.Ext(name) {
	case ".yaml", ".yml":
		return YAML
	case ".json":
		return JSON
	}
	return Lines
}

// Writer writes a file piece by piece: what is to be known of the server, then sessions, if it is
// to be a server's whole state, then znodes, by path. Then Close ends it. The same calls always
// give the same text.
type Writer struct {
	out     *bufio.Writer
	lines   *json.Encoder
	form    Form
	count   int  // members of the one object
	listing bool // inside "sessions"
}

// NewWriter writes to w.
func NewWriter(w io.Writer, form Form) *Writer {
	out := bufio.NewWriterSize(w, 64<<10)
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false) // to be read by humans
	return &Writer{out: out, form: form, lines: e}
}

// Server writes that the file is a server's whole state, as of a transaction.
func (w *Writer) Server(zxid int64) error {
	number := hex(zxid)
	if w.form == Lines {
		return w.lines.Encode(struct {
			Zxid hex `json:"zxid"`
		}{number})
	}
	return w.member(keyZxid, number)
}

// Session writes a session.
func (w *Writer) Session(s Session) error {
	value := session{Session: hex(s.ID), Timeout: s.Timeout.String(), Password: base64.StdEncoding.EncodeToString(s.Password)}
	switch {
	case w.form == Lines:
		return w.lines.Encode(value) //nolint:gosec // a session is kept with its password; the file is its owner's
	case w.form == YAML && !w.listing:
		w.say(keySessions + ":\n")
	case w.form == JSON && !w.listing:
		w.separate()
		w.say("\n  \"" + keySessions + "\": [\n    ")
	case w.form == JSON:
		w.say(",\n    ")
	}
	w.listing = true
	w.count++
	return w.value(w.form, []session{value}, value)
}

// value writes a part of a list.
func (w *Writer) value(form Form, asList, alone any) error {
	if form == YAML {
		text, err := yaml.Marshal(asList)
		w.say(string(text))
		return err
	}
	text, err := plain(alone)
	w.say(text)
	return err
}

// Znode writes a znode.
func (w *Writer) Znode(z *Znode) error {
	if w.form == Lines {
		return w.lines.Encode(struct {
			Path string `json:"path"`
			entry
		}{z.Path, z.entry()})
	}
	return w.member(z.Path, z.entry())
}

// member writes a key of the one object, with its value.
func (w *Writer) member(key string, value any) error {
	w.endList()
	if w.form == YAML {
		w.count++
		var node yaml.Node
		if err := node.Encode(value); err != nil {
			return err
		}
		text, err := yaml.Marshal(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{prose(key).node(), &node}})
		w.say(string(text))
		return err
	}
	name, err := plain(key)
	if err != nil {
		return err
	}
	text, err := plain(value)
	if err != nil {
		return err
	}
	w.separate()
	w.say("\n  " + name + ": " + text)
	return nil
}

// separate stands in front of each member of JSON's object.
func (w *Writer) separate() {
	if w.count == 0 {
		w.say("{")
	} else {
		w.say(",")
	}
	w.count++
}

func (w *Writer) endList() {
	if w.listing && w.form == JSON {
		w.say("\n  ]")
	}
	w.listing = false
}

// say writes text; that it could not be written is said at the end.
func (w *Writer) say(text string) { _, _ = w.out.WriteString(text) }

// Close ends the file. The writer below stays open.
func (w *Writer) Close() error {
	w.endList()
	switch {
	case w.form == JSON && w.count == 0:
		w.say("{\n}\n")
	case w.form == JSON:
		w.say("\n}\n")
	case w.form == YAML && w.count == 0:
		w.say("{}\n")
	}
	return w.out.Flush()
}

// plain is JSON as it is read by humans: without escapes for the sake of HTML.
func plain(v any) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// prose is text that anybody may have written. YAML's looser forms don't bring all of it back as it
// was, nor does [yaml.Node.Encode], which writes and reads what it encodes.
type prose string

func (p prose) MarshalYAML() (any, error) { return p.node(), nil }

func (p prose) node() *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: string(p)}
	if !tame(string(p)) {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// tame: printable, and no space where it could be taken for indentation.
func tame(text string) bool {
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimSpace(line) != line {
			return false
		}
	}
	return !strings.HasPrefix(text, "\n") &&
		!strings.ContainsFunc(text, func(c rune) bool { return c != '\n' && !unicode.IsPrint(c) })
}
