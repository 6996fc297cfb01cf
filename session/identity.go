package session

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/troupe-go/troupe/internal/znode"
)

// WithIdentity adds a name to what locks, elections and queues write into the znodes of this
// session's contenders, so that others can tell whose they are: host, process ID and program, in
// 256 bytes at most, for which a long host or program is cut. Nothing of the environment is among
// them. The name is printable text. It need not be unique: nothing is decided by it.
func WithIdentity(name string) Option {
	return func(c *config) error {
		c.identity = Identity{PID: math.MaxInt32, Name: name}
		if name == "" || znode.ParseIdentity(c.identity.JSON()) != c.identity {
			return fmt.Errorf("WithIdentity: name: %.80q is empty, too long or not printable", name)
		}
		return nil
	}
}

// WithoutIdentity leaves all of it out: see [WithIdentity], with which it can't be combined. Others
// then know a contender by its ZooKeeper session alone.
func WithoutIdentity() Option {
	return func(c *config) error {
		c.anonymous = true
		return nil
	}
}

// identify adds what need not be told.
func (c *config) identify() error {
	switch {
	case c.anonymous && c.identity.Name != "":
		return errors.New("WithoutIdentity: can't be combined with WithIdentity")
	case c.anonymous:
		return nil
	}
	c.identity.Host, _ = os.Hostname() // else it is left out
	c.identity.PID, c.identity.Program = os.Getpid(), filepath.Base(strings.Join(os.Args[:min(1, len(os.Args))], ""))
	return nil
}
