package treefile

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Visitor is told what a file holds, in the file's order. What it is not interested in may be nil;
// an error of its own ends the reading.
type Visitor struct {
	Server  func(zxid int64) error // the number of the last transaction: the file is a server's whole state
	Session func(Session) error
	Znode   func(*Znode) error
}

// Read reads a file piece by piece, in whichever form it is: JSON Lines, JSON or YAML. Unknown
// fields are errors, and all errors name the path where there is one.
func Read(r io.Reader, v Visitor) error {
	in := bufio.NewReaderSize(r, headSize)
	form, err := sniff(in)
	if err != nil {
		return err
	}
	switch form {
	case Lines:
		err = readLines(in, v)
	case JSON:
		err = readJSON(in, v)
	case YAML:
		err = readYAML(in, v)
	}
	if err != nil {
		return fmt.Errorf("tree: %w", err)
	}
	return nil
}

const headSize = 4 << 10

// sniff tells the forms apart by their beginning: YAML begins with no brace; a line of JSON Lines
// with one of a line's keys, and the one object of the other form with a path.
func sniff(in *bufio.Reader) (Form, error) {
	head, err := in.Peek(headSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	head = bytes.TrimSpace(head)
	if !bytes.HasPrefix(head, []byte("{")) {
		return YAML, nil
	}
	d := json.NewDecoder(bytes.NewReader(head))
	if _, err := d.Token(); err != nil {
		return JSON, nil //nolint:nilerr // whoever reads it finds the same error
	}
	first, err := d.Token()
	key, _ := first.(string)
	if err != nil || !slices.Contains(lineKeys, key) || key == keyZxid && d.More() && nextIsPath(d) {
		return JSON, nil //nolint:nilerr // as above
	}
	return Lines, nil
}

// nextIsPath: "zxid" begins a line, of which it is all, as well as the one object.
func nextIsPath(d *json.Decoder) bool {
	_, err := d.Token() // its value
	return err == nil && d.More()
}

func readLines(in io.Reader, v Visitor) error {
	d := json.NewDecoder(in)
	d.DisallowUnknownFields()
	for number := 1; ; number++ {
		var l line
		err := d.Decode(&l)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = l.visit(v)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
	}
}

func readJSON(in io.Reader, v Visitor) error {
	d := json.NewDecoder(in)
	d.DisallowUnknownFields()
	if _, err := d.Token(); err != nil { // the brace
		return err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := key.(string) // as keys are
		if err := readMember(d, name, v); err != nil {
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

func readMember(d *json.Decoder, name string, v Visitor) error {
	var doc document
	var err error
	switch name {
	case keyZxid:
		err = d.Decode(&doc.Zxid)
	case keySessions:
		err = d.Decode(&doc.Sessions)
	default:
		doc.Znodes = map[string]*entry{name: {}}
		err = d.Decode(doc.Znodes[name])
	}
	if err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	return doc.visit(v)
}

// visit passes on what a document holds, parents in front of their children.
func (doc *document) visit(v Visitor) error {
	if doc.Zxid != nil && v.Server != nil {
		if err := v.Server(int64(*doc.Zxid)); err != nil {
			return err
		}
	}
	for i := range doc.Sessions {
		if err := doc.Sessions[i].visit(v); err != nil {
			return err
		}
	}
	paths := make([]string, 0, len(doc.Znodes))
	for path := range doc.Znodes {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	for _, path := range paths {
		e := doc.Znodes[path]
		if e == nil { // "/path:" with nothing behind it
			e = &entry{}
		}
		if err := e.visit(path, v); err != nil {
			return err
		}
	}
	return nil
}

func (e *entry) visit(path string, v Visitor) error {
	z, err := e.znode(path)
	if err == nil && v.Znode != nil {
		err = v.Znode(&z)
	}
	if err != nil {
		return fmt.Errorf("%q: %w", path, err)
	}
	return nil
}

// Parse reads the znodes of a text, parents in front of their children. A path that occurs twice is
// an error.
func Parse(text []byte) ([]Znode, error) {
	var all []Znode
	err := Read(bytes.NewReader(text), Visitor{Znode: func(z *Znode) error {
		all = append(all, *z)
		return nil
	}})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b Znode) int { return cmp.Compare(a.Path, b.Path) })
	for i := 1; i < len(all); i++ {
		if all[i].Path == all[i-1].Path {
			return nil, fmt.Errorf("tree: %q occurs twice", all[i].Path)
		}
	}
	return all, nil
}
