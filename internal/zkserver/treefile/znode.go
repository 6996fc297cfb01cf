package treefile

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/troupe-go/troupe/internal/jute"
)

// Znode is one of the tree's.
type Znode struct {
	Path      string
	Data      []byte     // nil is ZooKeeper's null, which is not the same as empty
	ACL       []jute.ACL // nil: open to everybody
	Container bool
	TTL       time.Duration // 0: none
	Sequence  int32         // of the next sequential child; -1: as many as it has children
	Owner     int64         // the session of an ephemeral; else 0
	Stat      *Stat         // in a server's whole state
}

// entry is a znode as it is written.
type entry struct {
	Data     *prose  `json:"data,omitempty"     yaml:"data,omitempty"`
	Base64   *string `json:"base64,omitempty"   yaml:"base64,omitempty"`
	Kind     string  `json:"kind,omitempty"     yaml:"kind,omitempty"`
	TTL      string  `json:"ttl,omitempty"      yaml:"ttl,omitempty"`
	Sequence *int32  `json:"sequence,omitempty" yaml:"sequence,omitempty"`
	ACL      []grant `json:"acl,omitempty"      yaml:"acl,omitempty"`
	Owner    hex     `json:"owner,omitempty"    yaml:"owner,omitempty"`
	Stat     *stat   `json:"stat,omitempty"     yaml:"stat,omitempty"`
}

type grant struct {
	Perms  string `json:"perms"  yaml:"perms"`
	Scheme prose  `json:"scheme" yaml:"scheme"`
	ID     prose  `json:"id"     yaml:"id"`
}

const (
	kindContainer = "container"
	kindTTL       = "ttl"
)

func (e *entry) znode(path string) (z Znode, err error) {
	z = Znode{Path: path, Sequence: -1, Owner: int64(e.Owner), Stat: e.Stat.read()}
	if !strings.HasPrefix(path, "/") {
		return z, errors.New("a path begins with a slash")
	}
	switch {
	case e.Data != nil && e.Base64 != nil:
		return z, errors.New("both data and base64")
	case e.Data != nil:
		z.Data = []byte(*e.Data)
	case e.Base64 != nil:
		if z.Data, err = bytesOf(*e.Base64); err != nil {
			return z, err
		}
	}
	if e.Sequence != nil {
		if *e.Sequence < 0 {
			return z, fmt.Errorf("sequence %d is negative", *e.Sequence)
		}
		z.Sequence = *e.Sequence
	}
	if err := z.setKind(e); err != nil {
		return z, err
	}
	return z, z.setACL(e.ACL)
}

func bytesOf(text string) ([]byte, error) {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("base64: %w", err)
	}
	return b, nil
}

func (z *Znode) setKind(e *entry) (err error) {
	switch e.Kind {
	case "":
	case kindContainer:
		z.Container = true
	case kindTTL:
		if z.TTL, err = time.ParseDuration(e.TTL); err != nil {
			return fmt.Errorf("ttl: %w", err)
		}
		if z.TTL < time.Millisecond {
			return fmt.Errorf("ttl: %v is shorter than a millisecond", z.TTL)
		}
		return nil
	default:
		return fmt.Errorf("kind %q is neither %q nor %q", e.Kind, kindContainer, kindTTL)
	}
	if e.TTL != "" {
		return fmt.Errorf("a ttl, and the kind is not %q", kindTTL)
	}
	return nil
}

func (z *Znode) setACL(grants []grant) error {
	for _, g := range grants {
		perms, err := parsePerms(g.Perms)
		if err != nil {
			return err
		}
		z.ACL = append(z.ACL, jute.ACL{Perms: perms, Scheme: string(g.Scheme), ID: string(g.ID)})
	}
	return nil
}

func (z *Znode) entry() entry {
	e := entry{Owner: hex(z.Owner), Stat: z.Stat.written()}
	switch {
	case z.Data == nil:
	case utf8.Valid(z.Data):
		text := prose(z.Data)
		e.Data = &text
	default:
		text := base64.StdEncoding.EncodeToString(z.Data)
		e.Base64 = &text
	}
	switch {
	case z.Container:
		e.Kind = kindContainer
	case z.TTL > 0:
		e.Kind, e.TTL = kindTTL, z.TTL.String()
	}
	if z.Sequence >= 0 {
		e.Sequence = &z.Sequence
	}
	if !slices.Equal(z.ACL, jute.OpenACL()) {
		for _, a := range z.ACL {
			e.ACL = append(e.ACL, grant{Perms: formatPerms(a.Perms), Scheme: prose(a.Scheme), ID: prose(a.ID)})
		}
	}
	return e
}

// letters are the permissions in the order in which zkCli writes them.
var letters = []struct {
	letter rune
	perm   jute.Perms
}{{'c', jute.PermCreate}, {'d', jute.PermDelete}, {'r', jute.PermRead}, {'w', jute.PermWrite}, {'a', jute.PermAdmin}}

func formatPerms(perms jute.Perms) string {
	var b strings.Builder
	for _, l := range letters {
		if perms&l.perm != 0 {
			b.WriteRune(l.letter)
		}
	}
	return b.String()
}

func parsePerms(text string) (perms jute.Perms, err error) {
next:
	for _, c := range text {
		for _, l := range letters {
			if c == l.letter {
				perms |= l.perm
				continue next
			}
		}
		return 0, fmt.Errorf("perms %q: %q is none of cdrwa", text, c)
	}
	return perms, nil
}
