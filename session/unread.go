package session

import (
	"errors"
	"slices"

	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// lookOwn is Exists for what this session has created itself, and perhaps may not read: since 3.8.4
// a server then refuses to tell its Stat (ZOOKEEPER-2590). That it refuses says that the znode
// stands; whether it is this session's own, its list of these says. The Stat then has an owner, 0
// for somebody else, and nothing more.
func lookOwn(c *zkconn.Conn, path string) (Stat, bool, error) {
	stat, exists, err := c.Exists(path, false)
	if !errors.Is(err, ErrNoAuth) {
		return stat, exists, err
	}
	paths, err := c.Ephemerals(path)
	if err != nil {
		return Stat{}, false, err
	}
	if slices.Contains(paths, path) {
		return Stat{EphemeralOwner: c.SessionID()}, true, nil
	}
	return Stat{}, true, nil
}

// stands is Exists for what needs no Stat: a znode that may not be read stands.
func stands(c *zkconn.Conn, path string) (bool, error) {
	_, exists, err := c.Exists(path, false)
	if errors.Is(err, ErrNoAuth) {
		return true, nil
	}
	return exists, err
}
