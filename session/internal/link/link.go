package link

import (
	"context"
	"errors"
	"time"
)

// Conn is one ZooKeeper session.
type Conn struct{}

var errBeingBuilt = errors.New("link is being built")

// Open begins.
func Open(cfg Config, sink func(Event)) (*Conn, error) { return nil, errBeingBuilt }

func (c *Conn) Create(path string, data []byte, mode Mode, ttl time.Duration, acl []ACL, written func()) (string, error) {
	return "", errBeingBuilt
}
func (c *Conn) Get(path string, watch bool) ([]byte, Stat, error) { return nil, Stat{}, errBeingBuilt }
func (c *Conn) Exists(path string, watch bool) (Stat, bool, error) {
	return Stat{}, false, errBeingBuilt
}
func (c *Conn) Children(path string, watch bool) ([]string, Stat, error) {
	return nil, Stat{}, errBeingBuilt
}
func (c *Conn) Set(path string, data []byte, version int32) (Stat, error) {
	return Stat{}, errBeingBuilt
}
func (c *Conn) Delete(path string, version int32) error { return errBeingBuilt }
func (c *Conn) GetACL(path string) ([]ACL, Stat, error) { return nil, Stat{}, errBeingBuilt }
func (c *Conn) SetACL(path string, acl []ACL, version int32) (Stat, error) {
	return Stat{}, errBeingBuilt
}
func (c *Conn) Sync(path string) error { return errBeingBuilt }

// written as for Create.
func (c *Conn) Multi(ops []Op, written ...func()) ([]Result, error) { return nil, errBeingBuilt }
func (c *Conn) SessionID() int64                                    { return 0 }
func (c *Conn) Close(ctx context.Context) error                     { return errBeingBuilt }
func (c *Conn) Abandon()                                            {}

// Size is the encoded size of a transaction of these operations, to be compared with MaxPacket.
func Size(ops ...Op) int { return 0 }

// SizeAlone is the encoded size of an operation sent by itself.
func SizeAlone(op Op) int { return 0 }
