package treefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// Parse reads a tree, parents in front of their children. A text that begins with a brace is JSON, any other YAML. Unknown fields, and a path that
// occurs twice, are errors, which name the path.
func Parse(text []byte) ([]Znode, error) {
	parse := parseYAML
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		parse = parseJSON
	}
	var all []Znode
	err := parse(text, func(path string, e *entry) error {
		z, err := e.znode(path)
		if err != nil {
			return fmt.Errorf("%q: %w", path, err)
		}
		all = append(all, z)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("tree: %w", err)
	}
	return sorted(all), nil
}

func parseYAML(text []byte, each func(string, *entry) error) error {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	var entries map[string]*entry // the decoder refuses a key that occurs twice
	if err := d.Decode(&entries); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := d.Decode(new(any)); !errors.Is(err, io.EOF) {
		return errors.New("more than one document")
	}
	for path, e := range entries {
		if e == nil { // "/path:" with nothing behind it
			e = &entry{}
		}
		if err := each(path, e); err != nil {
			return err
		}
	}
	return nil
}

func parseJSON(text []byte, each func(string, *entry) error) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if _, err := d.Token(); err != nil { // the brace
		return err
	}
	seen := make(map[string]bool)
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		path, _ := key.(string) // as keys are
		if seen[path] {
			return fmt.Errorf("%q occurs twice", path)
		}
		seen[path] = true
		var e entry
		if err := d.Decode(&e); err != nil {
			return fmt.Errorf("%q: %w", path, err)
		}
		if err := each(path, &e); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something behind the tree")
	}
	return nil
}
