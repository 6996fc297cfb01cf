package treefile

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// YAML writes a tree, sorted by path. The same tree always gives the same text.
func YAML(znodes []Znode) ([]byte, error) {
	doc := &yaml.Node{Kind: yaml.MappingNode}
	for _, z := range sorted(znodes) {
		var value yaml.Node
		if err := value.Encode(z.entry()); err != nil {
			return nil, err
		}
		doc.Content = append(doc.Content, prose(z.Path).node(), &value)
	}
	return yaml.Marshal(doc)
}

// prose is text that anybody may have written. YAML's looser forms don't bring all of it back as it was, nor does [yaml.Node.Encode], which writes and
// reads what it encodes.
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

// JSON is [YAML] as JSON.
func JSON(znodes []Znode) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("{")
	for i, z := range sorted(znodes) {
		key, err := plain(z.Path)
		if err != nil {
			return nil, err
		}
		value, err := plain(z.entry())
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString("\n  " + key + ": " + value)
	}
	b.WriteString("\n}\n")
	return b.Bytes(), nil
}

// plain is JSON as it is read by humans: without escapes for the sake of HTML.
func plain(v any) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}
