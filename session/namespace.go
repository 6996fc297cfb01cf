package session

import (
	"errors"
	"strings"

	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// Path is the absolute path in ZooKeeper: with the chroot and the namespace in front.
func (s *Session) Path(path string) string {
	switch {
	case s.cfg.root == "":
		return path
	case path == "/":
		return s.cfg.root
	}
	return s.cfg.root + path
}

// Relative is the path in this session of an absolute one in ZooKeeper; false if that is outside
// the namespace.
func (s *Session) Relative(path string) (string, bool) {
	if s.cfg.root == "" {
		return path, strings.HasPrefix(path, "/")
	}
	rest, ok := strings.CutPrefix(path, s.cfg.root)
	switch {
	case !ok || rest != "" && rest[0] != '/':
		return "", false
	case rest == "":
		return "/", true
	}
	return rest, true
}

// relative is for paths that are known to be inside.
func (s *Session) relative(path string) string {
	path, _ = s.Relative(path)
	return path
}

// rootMissing looks whether it was the namespace's own znode that a request missed, and makes it.
// True: it did, so the request may be made again. Otherwise it returns the error to go on with.
func (s *Session) rootMissing(c *zkconn.Conn, err error) (bool, error) {
	if !errors.Is(err, ErrNoNode) || s.cfg.root == "" {
		return false, err
	}
	exists, failure := stands(c, s.cfg.root)
	if failure == nil && !exists {
		failure = s.ensure(c, s.cfg.root, zkconn.Persistent)
	}
	if failure != nil {
		return false, failure
	}
	return !exists, err
}

// ensure creates what is missing of an absolute path, from the top down: persistent znodes as far
// as the namespace goes, in the given mode below.
func (s *Session) ensure(c *zkconn.Conn, path string, mode zkconn.Mode) error {
	if path == "/" || path == "" {
		return nil
	}
	err := s.make(c, path, mode)
	if !errors.Is(err, ErrNoNode) {
		return err
	}
	if err := s.ensure(c, parentOf(path), mode); err != nil {
		return err
	}
	return s.make(c, path, mode)
}

// make creates one znode without data; that it exists already is as good.
func (s *Session) make(c *zkconn.Conn, path string, mode zkconn.Mode) error {
	if len(path) <= len(s.cfg.root) {
		mode = zkconn.Persistent
	}
	_, err := c.Create(path, nil, mode, 0, s.cfg.acl)
	if mode == zkconn.Container && errors.Is(err, ErrUnsupported) {
		_, err = c.Create(path, nil, zkconn.Persistent, 0, s.cfg.acl)
	}
	if errors.Is(err, ErrNoAuth) { // the right to create is looked at before whether there is anything to create
		if exists, look := stands(c, path); look != nil || exists {
			return look
		}
	}
	if errors.Is(err, ErrNodeExists) {
		return nil
	}
	return err
}

// ensureParents creates what is missing above an absolute path.
func (s *Session) ensureParents(c *zkconn.Conn, path string) error {
	return s.ensure(c, parentOf(path), zkconn.Container)
}
