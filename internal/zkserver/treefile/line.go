package treefile

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver/tree"
)

// line is a znode as the file has it.
type line struct {
	Path     string  `json:"path,omitempty"`
	Data     *string `json:"data,omitempty"`
	Base64   []byte  `json:"base64,omitempty"` // data that are no text
	Kind     string  `json:"kind,omitempty"`
	TTL      string  `json:"ttl,omitempty"`
	Sequence *int32  `json:"sequence,omitempty"`
	ACL      []grant `json:"acl,omitempty"`
}

type grant struct {
	Perms  string `json:"perms"`
	Scheme string `json:"scheme"`
	ID     string `json:"id"`
}

const (
	kindContainer = "container"
	kindTTL       = "ttl"
)

func (l *line) znode() (Znode, error) {
	z, err := l.read()
	if err != nil {
		return z, fmt.Errorf("%q: %w", l.Path, err)
	}
	return z, nil
}

func (l *line) read() (z Znode, err error) {
	z = Znode{Path: l.Path, Data: l.Base64, ACL: jute.OpenACL(), Sequence: -1}
	switch {
	case !strings.HasPrefix(l.Path, "/"):
		return z, errors.New("a path begins with a slash")
	case l.Data != nil && l.Base64 != nil:
		return z, errors.New("both data and base64")
	case l.Data != nil:
		z.Data = []byte(*l.Data)
	}
	if l.Sequence != nil {
		if z.Sequence = *l.Sequence; z.Sequence < 0 {
			return z, fmt.Errorf("sequence %d is negative", z.Sequence)
		}
	}
	if z.Owner, err = l.owner(); err != nil {
		return z, err
	}
	if len(l.ACL) > 0 {
		z.ACL = nil
	}
	for _, g := range l.ACL {
		perms, err := ParsePerms(g.Perms)
		if err != nil {
			return z, err
		}
		z.ACL = append(z.ACL, jute.ACL{Perms: perms, Scheme: g.Scheme, ID: g.ID})
	}
	return z, nil
}

func (l *line) owner() (int64, error) {
	switch {
	case l.TTL != "" && l.Kind != kindTTL:
		return 0, fmt.Errorf("a ttl, and the kind is not %q", kindTTL)
	case l.Kind == "":
		return 0, nil
	case l.Kind == kindContainer:
		return tree.OwnerContainer, nil
	case l.Kind != kindTTL:
		return 0, fmt.Errorf("kind %q is neither %q nor %q", l.Kind, kindContainer, kindTTL)
	}
	ttl, err := time.ParseDuration(l.TTL)
	if err != nil {
		return 0, fmt.Errorf("ttl: %w", err)
	}
	if ms := ttl.Milliseconds(); ms < 1 || ms > tree.MaxTTL {
		return 0, fmt.Errorf("ttl: %v is out of range", ttl)
	}
	return tree.OwnerTTL(ttl.Milliseconds()), nil
}

func (z *Znode) line() *line {
	l := &line{Path: z.Path}
	switch {
	case z.Data == nil:
	case utf8.Valid(z.Data):
		text := string(z.Data)
		l.Data = &text
	default:
		l.Base64 = z.Data
	}
	if ms, ok := tree.TTL(z.Owner); z.Owner == tree.OwnerContainer {
		l.Kind = kindContainer
	} else if ok {
		l.Kind, l.TTL = kindTTL, (time.Duration(ms) * time.Millisecond).String()
	}
	if z.Sequence >= 0 {
		l.Sequence = &z.Sequence
	}
	if !slices.Equal(z.ACL, jute.OpenACL()) {
		for _, a := range z.ACL {
			l.ACL = append(l.ACL, grant{Perms: formatPerms(a.Perms), Scheme: a.Scheme, ID: a.ID})
		}
	}
	return l
}

// letters stand for the permissions, in the order in which zkCli writes them.
const letters = "cdrwa"

var permissions = [len(letters)]int32{jute.PermCreate, jute.PermDelete, jute.PermRead, jute.PermWrite, jute.PermAdmin}

func formatPerms(perms int32) string {
	var text []byte
	for i, p := range permissions {
		if perms&p != 0 {
			text = append(text, letters[i])
		}
	}
	return string(text)
}

// ParsePerms reads permissions as a file has them: letters of "cdrwa".
func ParsePerms(text string) (perms int32, err error) {
	for _, c := range text {
		i := strings.IndexRune(letters, c)
		if i < 0 {
			return 0, fmt.Errorf("perms %q: %q is none of %s", text, c, letters)
		}
		perms |= permissions[i]
	}
	return perms, nil
}
