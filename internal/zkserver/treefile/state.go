package treefile

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Session is a client's, as a server's whole state has it.
type Session struct {
	ID       int64
	Timeout  time.Duration
	Password []byte
}

// Stat is what a server's whole state has of a znode beside what a tree has. Times are in
// milliseconds.
type Stat struct {
	Czxid, Mzxid, Pzxid int64
	Ctime, Mtime        int64
	Version, Aversion   int32
}

// hex is a number that ZooKeeper's users know in hexadecimal.
type hex int64

func (h hex) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "0x%x", uint64(h)), nil }

func (h *hex) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 0, 64)
	if err != nil {
		return fmt.Errorf("%q is no number", text)
	}
	*h = hex(n)
	return nil
}

// session is a Session as it is written.
type session struct {
	Session  hex    `json:"session"            yaml:"session"`
	Timeout  string `json:"timeout"            yaml:"timeout"`
	Password string `json:"password,omitempty" yaml:"password,omitempty"` // in base64
}

// stat is a Stat as it is written: what is left out is as the field before it, or 0.
type stat struct {
	Czxid    hex   `json:"czxid"              yaml:"czxid"`
	Mzxid    hex   `json:"mzxid,omitempty"    yaml:"mzxid,omitempty"`
	Pzxid    hex   `json:"pzxid,omitempty"    yaml:"pzxid,omitempty"`
	Ctime    int64 `json:"ctime"              yaml:"ctime"`
	Mtime    int64 `json:"mtime,omitempty"    yaml:"mtime,omitempty"`
	Version  int32 `json:"version,omitempty"  yaml:"version,omitempty"`
	Aversion int32 `json:"aversion,omitempty" yaml:"aversion,omitempty"`
}

func (s *Stat) written() *stat {
	if s == nil {
		return nil
	}
	w := &stat{Czxid: hex(s.Czxid), Ctime: s.Ctime, Version: s.Version, Aversion: s.Aversion}
	if s.Mzxid != s.Czxid {
		w.Mzxid = hex(s.Mzxid)
	}
	if s.Pzxid != s.Czxid {
		w.Pzxid = hex(s.Pzxid)
	}
	if s.Mtime != s.Ctime {
		w.Mtime = s.Mtime
	}
	return w
}

func (w *stat) read() *Stat {
	if w == nil {
		return nil
	}
	s := &Stat{
		Czxid: int64(w.Czxid), Mzxid: int64(w.Mzxid), Pzxid: int64(w.Pzxid), Ctime: w.Ctime, Mtime: w.Mtime,
		Version: w.Version, Aversion: w.Aversion,
	}
	if w.Mzxid == 0 {
		s.Mzxid = s.Czxid
	}
	if w.Pzxid == 0 {
		s.Pzxid = s.Czxid
	}
	if w.Mtime == 0 {
		s.Mtime = s.Ctime
	}
	return s
}

func (w *session) visit(v Visitor) error {
	s, err := w.read()
	if err == nil && v.Session != nil {
		err = v.Session(s)
	}
	if err != nil {
		return fmt.Errorf("session 0x%x: %w", uint64(w.Session), err)
	}
	return nil
}

func (w *session) read() (Session, error) {
	timeout, err := time.ParseDuration(w.Timeout)
	if err != nil {
		return Session{}, fmt.Errorf("timeout: %w", err)
	}
	if w.Session == 0 || timeout <= 0 {
		return Session{}, errors.New("an id and a timeout are needed")
	}
	password, err := bytesOf(w.Password)
	return Session{ID: int64(w.Session), Timeout: timeout, Password: password}, err
}

// document is a file in the forms of one object.
type document struct {
	Zxid     *hex              `yaml:"zxid"`
	Sessions []session         `yaml:"sessions"`
	Znodes   map[string]*entry `yaml:",inline"`
}

const (
	keyZxid     = "zxid"
	keySessions = "sessions"
)

// line is one of JSON Lines: a znode, a session, or what is to be known of the server.
type line struct {
	Path *prose `json:"path"`
	entry

	Zxid     *hex   `json:"zxid"`
	Session  *hex   `json:"session"`
	Timeout  string `json:"timeout"`
	Password string `json:"password"`
}

// lineKeys are those with which a line may begin.
var lineKeys = []string{
	"path", "data", "base64", "kind", "ttl", "sequence", "acl", "owner", "stat", keyZxid, "session", "timeout", "password",
}

func (l *line) visit(v Visitor) error {
	switch {
	case l.Path != nil && l.Session == nil && l.Zxid == nil:
		return l.entry.visit(string(*l.Path), v)
	case l.Session != nil && l.Path == nil && l.Zxid == nil:
		s := session{Session: *l.Session, Timeout: l.Timeout, Password: l.Password}
		return s.visit(v)
	case l.Zxid != nil && l.Path == nil && l.Session == nil:
		if v.Server == nil {
			return nil
		}
		return v.Server(int64(*l.Zxid))
	}
	return errors.New("a line has one of path, session and zxid")
}
