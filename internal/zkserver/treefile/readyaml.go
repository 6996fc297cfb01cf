package treefile

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"go.yaml.in/yaml/v3"
)

// A text of up to smallYAML bytes is read as one document, with everything that YAML has. A larger
// one, which nobody has written by hand, is read in pieces of whole znodes, because the parser
// takes a hundred times a document's size, and compares every key with every other.
const (
	smallYAML = 1 << 20
	pieceYAML = 32 << 10
)

func readYAML(r io.Reader, v Visitor) error {
	in := bufio.NewReaderSize(r, smallYAML)
	head, err := in.Peek(smallYAML)
	if errors.Is(err, io.EOF) {
		return readDocument(head, v)
	}
	if err != nil {
		return err
	}
	var piece []byte
	for {
		line, err := readLine(in)
		if len(piece) >= pieceYAML && beginsEntry(line) || err != nil {
			piece = finish(piece, line, err)
			if err := readDocument(piece, v); err != nil {
				return err
			}
			piece = piece[:0]
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		piece = append(piece, line...)
	}
}

// beginsEntry: a line that begins a znode has its path at the left edge.
func beginsEntry(line []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(line[:min(len(line), 2)], `"'`), []byte("/"))
}

// finish: what stands in the last line belongs to the last piece.
func finish(piece, line []byte, err error) []byte {
	if errors.Is(err, io.EOF) {
		return append(piece, line...)
	}
	return piece
}

// readLine is a whole line, however long.
func readLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	whole := bytes.Clone(line)
	for errors.Is(err, bufio.ErrBufferFull) {
		line, err = in.ReadSlice('\n')
		whole = append(whole, line...)
	}
	return whole, err
}

func readDocument(text []byte, v Visitor) error {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	var doc document // the decoder refuses a key that occurs twice
	if err := d.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := d.Decode(new(any)); !errors.Is(err, io.EOF) {
		return errors.New("more than one document")
	}
	return doc.visit(v)
}
