package fence

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/troupe-go/troupe/internal/znode"
)

// Sequencer describes a possession as a value. Holders get it from the Sequencer methods of grants
// and terms. It is comparable: equal sequencers describe the same possession.
type Sequencer struct {
	Path      string // of the holder's znode, absolute in ZooKeeper: with the chroot and namespace of its session
	Mode      Mode
	Token     int64 // the fencing token: grows from exclusive holder to exclusive holder
	SessionID int64 // the ZooKeeper session that holds it
}

// String returns the sequencer in the form that [Parse] reads, for a header or a message:
//
//	exclusive:4294967338:0x1000a3b5c2d0001:/locks/orders/_c_3e6c…-lock-0000000007
func (q Sequencer) String() string {
	return string(q.Mode) + ":" + strconv.FormatInt(q.Token, 10) + ":0x" + strconv.FormatUint(uint64(q.SessionID), 16) + ":" + q.Path
}

// Parse decodes the result of [Sequencer.String]. For any other text it returns [ErrInvalid], with
// the invalid part. It checks only the form; [Check] tells whether the possession exists.
func Parse(s string) (Sequencer, error) {
	parts := strings.SplitN(s, ":", 4)
	if len(parts) != 4 {
		return Sequencer{}, invalid("parse", "%q has %d of the 4 parts mode:token:session:path", s, len(parts))
	}
	token, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return Sequencer{}, invalid("parse", "token %q is not a number of 64 bits", parts[1])
	}
	hex, ok := strings.CutPrefix(parts[2], "0x")
	id, err := strconv.ParseUint(hex, 16, 64)
	if !ok || err != nil {
		return Sequencer{}, invalid("parse", "session %q is not 0x and a hexadecimal number of 64 bits", parts[2])
	}
	q := Sequencer{Path: parts[3], Mode: Mode(parts[0]), Token: token, SessionID: int64(id)}
	if err := q.validate("parse"); err != nil {
		return Sequencer{}, err
	}
	if q.String() != s {
		return Sequencer{}, invalid("parse", "%q is not written as %q", s, q)
	}
	return q, nil
}

// validate refuses what cannot be a possession.
func (q Sequencer) validate(op string) error {
	switch {
	case q.Mode != Exclusive && q.Mode != Shared:
		return invalid(op, "mode %q is neither %q nor %q", string(q.Mode), string(Exclusive), string(Shared))
	case q.Token <= 0:
		return invalid(op, "token %d is not positive", q.Token)
	case q.SessionID == 0:
		return invalid(op, "session 0 holds nothing")
	}
	return validatePath(op, q.Path)
}

// validatePath checks for an absolute path of printable names, as ZooKeeper requires.
func validatePath(op, path string) error {
	names := strings.Split(path, "/")
	if !strings.HasPrefix(path, "/") {
		return invalid(op, "path %q is not absolute", path)
	}
	for _, name := range names[1:] {
		if name == "" || name == "." || name == ".." {
			return invalid(op, "path %q has a name %q in it", path, name)
		}
	}
	if !utf8.ValidString(path) || strings.ContainsFunc(path, unprintable) {
		return invalid(op, "path %q has characters that ZooKeeper does not permit", path)
	}
	return nil
}

// unprintable are the characters that ZooKeeper refuses in paths. ZooKeeper counts in UTF-16, so
// everything beyond 16 bits is refused as well.
func unprintable(r rune) bool {
	return r <= 0x1f || r >= 0x7f && r <= 0x9f || r >= 0xd800 && r <= 0xf8ff || r >= 0xfff0
}

// contenders is the path that tells one lock or election from another: the parent of its
// contenders' znodes, or the znode itself if there is only one, as in the layout Simple of package
// lock. A contender's name ends in a number behind the prefix of a layout or a GUID.
func (q Sequencer) contenders() string {
	parent, name := znode.Split(q.Path)
	if _, known := znode.ParseContender(name); known {
		return parent
	}
	if _, _, numbered := znode.Sequence(name); numbered && strings.HasPrefix(name, "_c_") {
		return parent // of a layout that is not known here, protected by a GUID
	}
	return q.Path
}

// Mode tells whether a possession is exclusive.
type Mode string

// The modes.
const (
	Exclusive Mode = "exclusive" // one holder at a time: locks, the write side of shared locks, leaders
	Shared    Mode = "shared"    // several holders: the read side of shared locks, semaphores. Tokens do not order the holders
)

var (
	// ErrFenced: the possession has ended, or a [Gate] refuses it: see [Gate.Admit].
	ErrFenced = errors.New("the possession is over")

	// ErrMode: a [Gate] refuses shared holders, since their tokens do not tell which is newer.
	ErrMode = errors.New("not an exclusive sequencer")

	// ErrInvalid: a part of the sequencer is missing or malformed.
	ErrInvalid = errors.New("not a sequencer")
)

// invalid names the part that is wrong.
func invalid(op, format string, args ...any) error {
	return fmt.Errorf("%s: %w: %s", op, ErrInvalid, fmt.Sprintf(format, args...))
}

func fenced(op string, q Sequencer, why string) error {
	return fmt.Errorf("%s %s: %w: token %d of session 0x%x: %s", op, q.Path, ErrFenced, q.Token, q.SessionID, why)
}
