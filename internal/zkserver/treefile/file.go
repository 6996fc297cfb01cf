package treefile

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

// File is what a file holds.
type File struct {
	Zxid     int64 // of the last transaction, if the file is a server's whole state; else -1
	Sessions []Session
	Znodes   []Znode // by path: parents in front of their children
}

// Session is a client's.
type Session struct {
	ID       int64
	Timeout  time.Duration
	Password []byte
}

// Znode is one of the tree's.
type Znode struct {
	Path     string
	Data     []byte // nil is ZooKeeper's null, which is not the same as empty
	ACL      []jute.ACL
	Owner    int64      // the session of an ephemeral, or what package tree makes of a container or a TTL
	Sequence int32      // of the next sequential child; -1: as many as it has children
	Stat     *jute.Stat // in a server's whole state; of it counts what doesn't follow from the rest
}

// Read reads a file. Unknown fields are errors, and so is a path that occurs twice.
func Read(r io.Reader) (*File, error) {
	f := &File{Zxid: -1}
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	for number := 1; ; number++ {
		var l line
		err := d.Decode(&l)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = f.add(&l)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	slices.SortFunc(f.Znodes, func(a, b Znode) int { return cmp.Compare(a.Path, b.Path) })
	for i := 1; i < len(f.Znodes); i++ {
		if path := f.Znodes[i].Path; path == f.Znodes[i-1].Path {
			return nil, fmt.Errorf("%q occurs twice", path)
		}
	}
	return f, nil
}

func (f *File) add(l *line) error {
	switch {
	case l.Path != "" && l.Session == 0 && l.Zxid == nil:
		z, err := l.znode()
		if err != nil {
			return fmt.Errorf("%q: %w", l.Path, err)
		}
		f.Znodes = append(f.Znodes, z)
	case l.Session != 0 && l.Path == "" && l.Zxid == nil:
		timeout, err := time.ParseDuration(l.Timeout)
		if err != nil || timeout <= 0 {
			return fmt.Errorf("session 0x%x: timeout: %q is no time", uint64(l.Session), l.Timeout)
		}
		f.Sessions = append(f.Sessions, Session{ID: int64(l.Session), Timeout: timeout, Password: l.Password})
	case l.Zxid != nil && l.Path == "" && l.Session == 0:
		if f.Zxid = int64(*l.Zxid); f.Zxid < 0 {
			return fmt.Errorf("zxid 0x%x is negative", uint64(f.Zxid))
		}
	default:
		return errors.New("a line has one of path, session and zxid")
	}
	return nil
}

// Write writes a file. The same content always has the same text.
func (f *File) Write(w io.Writer) error {
	out := bufio.NewWriterSize(w, 64<<10)
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false) // to be read by humans
	var err error
	put := func(l *line) {
		if err == nil {
			err = lines.Encode(l) //nolint:gosec // a session is kept with its password; the file is its owner's
		}
	}
	if f.Zxid >= 0 {
		put(&line{Zxid: (*hex)(&f.Zxid)})
	}
	for _, s := range f.Sessions {
		put(&line{Session: hex(s.ID), Timeout: s.Timeout.String(), Password: s.Password})
	}
	for i := range f.Znodes {
		put(f.Znodes[i].line())
	}
	if err != nil {
		return err
	}
	return out.Flush()
}
