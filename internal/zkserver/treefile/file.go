package treefile

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/troupe-go/troupe/internal/jute"
)

// Znode is one of the tree's.
type Znode struct {
	Path     string
	Data     []byte // nil is ZooKeeper's null, which is not the same as empty
	ACL      []jute.ACL
	Owner    int64 // what package tree makes of a container or a TTL; else 0
	Sequence int32 // of the next sequential child; -1: as many as it has children
}

// Read reads a file: the znodes by path, so that parents are in front of their children. Unknown
// fields are errors, and so is a path that occurs twice.
func Read(r io.Reader) (all []Znode, err error) {
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	for number := 1; ; number++ {
		var l line
		err := d.Decode(&l)
		if errors.Is(err, io.EOF) {
			break
		}
		var z Znode
		if err == nil {
			z, err = l.znode()
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		all = append(all, z)
	}
	slices.SortFunc(all, func(a, b Znode) int { return cmp.Compare(a.Path, b.Path) })
	for i := 1; i < len(all); i++ {
		if path := all[i].Path; path == all[i-1].Path {
			return nil, fmt.Errorf("%q occurs twice", path)
		}
	}
	return all, nil
}

// Write writes a file. The same znodes always have the same text.
func Write(w io.Writer, znodes []Znode) error {
	out := bufio.NewWriterSize(w, 64<<10)
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false) // to be read by humans
	for i := range znodes {
		if err := lines.Encode(znodes[i].line()); err != nil {
			return err
		}
	}
	return out.Flush()
}
