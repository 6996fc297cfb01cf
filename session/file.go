package session

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"sync"
	"time"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// WithSessionFile keeps the ZooKeeper session in a file. If the process is killed, the next one
// that uses the file ends that ZooKeeper session at once, so that others need not wait for its
// timeout. This counts as a death: possessions of the killed process are not released, so a lock's
// delay applies.
//
// The file belongs to one process at a time, which locks it (flock). It is made if it does not
// exist. It contains the session's id and password, so it must belong to this process's user or to
// root, only its owner and its group may have access, and it must not be a symbolic link; otherwise
// New fails, as it does where there is no flock ([ErrUnsupported]), and if another session of this
// process has the file. Access of the group is logged. The former session is closed only if its
// process is gone, and was on this host. Otherwise that is logged, the file stays as it is, and the
// session goes on without it. A damaged file is copied to one with ".damaged" at the end of its
// name, which replaces an earlier copy, and is then used.
//
// The file is not for a volume that several hosts share, nor for a process whose children go on
// working in its name when it is gone.
func WithSessionFile(file string) Option {
	return func(c *config) error {
		if file == "" {
			return errors.New("WithSessionFile: file: empty")
		}
		c.file = file
		return nil
	}
}

// sessionFile is a file of [WithSessionFile], which this process has locked. A nil one does
// nothing.
type sessionFile struct {
	cfg    *config
	host   string
	file   *os.File
	key    fileKey
	before *saved // of the process before; nil: there is no session to be ended

	ending sync.Once    // the end of that session; it begins when there is a connection
	ended  notify.Latch // that has been tried

	mu    sync.Mutex
	over  bool   // the session of the process before is closed
	epoch uint64 // the one whose session is in the file; 0: none is
}

// saved is what is in the file: a line, and a line with its checksum.
type saved struct {
	Session  int64    `json:"session"`
	Password []byte   `json:"password"`
	Timeout  int64    `json:"timeout"` // in milliseconds
	Host     string   `json:"host"`
	Servers  []string `json:"servers"`
}

func (n *saved) text() []byte {
	line, _ := json.Marshal(n) //nolint:errchkjson,gosec // it does not fail; the file is for the password
	return fmt.Appendf(nil, "%s\n%s\n", line, checksum(line))
}

func checksum(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:8])
}

// parseSaved reads what text has made; nil: that is damaged.
func parseSaved(text []byte) *saved {
	line, rest, _ := bytes.Cut(text, []byte("\n"))
	sum, _, _ := bytes.Cut(rest, []byte("\n")) // behind it may be what is left of a longer text
	n := new(saved)
	if string(sum) != checksum(line) || json.Unmarshal(line, n) != nil || n.Session == 0 || len(n.Servers) == 0 {
		return nil
	}
	return n
}

// inUse are the files that sessions of this process have: the operating system lets a process lock
// a file again.
var inUse = struct {
	mu  sync.Mutex
	all map[fileKey]bool
}{all: make(map[fileKey]bool)}

// openSessionFile takes the file, if there is one to take. The error is what the caller has done
// wrong.
func openSessionFile(cfg *config) (*sessionFile, error) {
	if cfg.file == "" {
		return nil, nil //nolint:nilnil // a nil file does nothing
	}
	f, key, err := openOwn(cfg.file, cfg.log)
	if err != nil {
		return nil, err
	}
	s := &sessionFile{cfg: cfg, file: f, key: key}
	if !use(key) {
		_ = f.Close()
		return nil, fmt.Errorf("%s: another session of this process has it", cfg.file)
	}
	if err := s.take(); err != nil {
		s.close(false)
		cfg.log.Warn("the session file is not used", "file", cfg.file, "cause", err)
		return nil, nil //nolint:nilnil // likewise
	}
	return s, nil
}

// use records that a session of this process has a file; false if another one has.
func use(key fileKey) bool {
	inUse.mu.Lock()
	defer inUse.mu.Unlock()
	before := inUse.all[key]
	inUse.all[key] = true
	return !before
}

func (s *sessionFile) take() (err error) {
	if s.host, err = os.Hostname(); err != nil {
		return err
	}
	if err := lockFile(s.file); err != nil {
		return fmt.Errorf("another process has it: %w", err)
	}
	text := make([]byte, 64<<10)
	n, err := s.file.ReadAt(text, 0)
	before := parseSaved(text[:n])
	switch {
	case err != nil && err != io.EOF:
		return err
	case n == 0: // it is new, or its session was closed
		return nil
	case before == nil:
		return s.keepDamaged()
	case before.Host != s.host:
		return fmt.Errorf("it is of the host %q", before.Host)
	}
	s.before = before
	return nil
}

// keepDamaged copies what can't be read, for this user alone. The file is overwritten by the first
// epoch.
func (s *sessionFile) keepDamaged() error {
	name := s.cfg.file + ".damaged"
	_ = os.Remove(name) // an earlier one, which others may be allowed to read
	to, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = io.Copy(to, io.NewSectionReader(s.file, 0, math.MaxInt64))
		err = errors.Join(err, to.Close())
	}
	if err != nil {
		return fmt.Errorf("it is damaged, and can't be copied: %w", err)
	}
	s.cfg.log.Warn("the session file is damaged: it is copied and used", "file", s.cfg.file, "copy", name)
	return nil
}

// endPredecessor closes the ZooKeeper session of the process before, which is gone. It takes as
// long as that could live without.
func (s *sessionFile) endPredecessor(of *Session) {
	defer s.ended.Close()
	n := s.before
	timeout := time.Duration(n.Timeout) * time.Millisecond
	log := of.log.With("session", hexID(n.Session), "file", s.cfg.file)
	conn, err := zkconn.Open(zkconn.Config{
		Servers: n.Servers, Timeout: max(timeout, time.Second), Dial: of.cfg.dial, Secure: of.cfg.secure(), Auth: of.cfg.credentials(),
		Resume: zkconn.Identity{ID: n.Session, Password: n.Password}, Source: of.cfg.source,
	}, func(zkconn.Event) {})
	if err == nil {
		ctx, cancel := context.WithTimeout(of.tasks.life, timeout)
		of.tasks.run(func() { // ends with ctx
			select {
			case <-of.Done(): // its end does not wait for this
			case <-ctx.Done():
			}
			cancel()
		})
		err = conn.Close(ctx)
		cancel()
	}
	if err != nil {
		log.Warn("the ZooKeeper session of the process before could not be closed", "error", err)
		return
	}
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	log.Warn("the ZooKeeper session of the process before is closed")
}

// patience is how long an epoch waits for the end of the session of the process before, which is in
// the file until then.
const patience = time.Second

// save writes the session of an epoch into the file, before any request is made in it. It is
// written in place, in one go: a new file would not be locked.
func (s *sessionFile) save(e *epoch) {
	if s == nil {
		return
	}
	if s.before != nil {
		s.ending.Do(func() { e.session.tasks.run(func() { s.endPredecessor(e.session) }) })
		select {
		case <-s.ended.C():
		case <-time.After(patience):
		case <-e.session.Done():
			return
		}
	}
	if err := s.write(e); err != nil {
		s.cfg.log.Warn("the session file can't be written", "file", s.cfg.file, "error", err)
	}
}

func (s *sessionFile) write(e *epoch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil || s.epoch == e.number {
		return nil
	}
	is := e.conn.Identity()
	n := saved{Session: is.ID, Password: is.Password, Timeout: e.session.Status().Timeout.Milliseconds(), Host: s.host, Servers: s.cfg.servers}
	text := n.text()
	_, err := s.file.WriteAt(text, 0)
	if err == nil {
		s.epoch = e.number
		err = s.file.Truncate(int64(len(text)))
	}
	return err
}

// close gives the file up. gone: the ZooKeeper session has ended, and there is nothing to be
// closed.
func (s *sessionFile) close(gone bool) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if gone && (s.before == nil || s.over) { // else the session in it may live
		_ = s.file.Truncate(0)
	}
	_ = s.file.Close() // and unlocks it
	s.file = nil
	inUse.mu.Lock()
	defer inUse.mu.Unlock()
	delete(inUse.all, s.key)
}
