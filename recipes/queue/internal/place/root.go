package place

import (
	"fmt"
	"hash/fnv"

	"github.com/troupe-go/troupe/internal/znode"
)

// Root is a queue's path.
type Root string

// Clock is the path of the znode that is written in order to read the servers' clock.
func (r Root) Clock() string { return znode.Join(string(r), "clock") }

// Dead is the path of the dead letters, if no other is given. It is a queue as well.
func (r Root) Dead() string { return znode.Join(string(r), "dead") }

// Receipt is the path of a producer's receipt.
func (r Root) Receipt(guid string) string { return znode.Join(string(r), "receipts/"+guid) }

// ID is the path that stands for the id of a living item. There may be as many as items, so they
// are spread over 256 parents.
func (r Root) ID(id string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // never fails
	return znode.Join(string(r), fmt.Sprintf("ids/%02x/%s", h.Sum32()&0xff, id))
}

// Stripes is over how many znodes the room of a bounded queue is spread, so that its users do not
// all write the same one.
const Stripes = 16

// Room is the path of what holds a bounded queue's room: its data are the capacity.
func (r Root) Room() string { return znode.Join(string(r), "room") }

// Stripe is the path of a part of the room: its data say how many items it has room for.
func (r Root) Stripe(i int) string { return fmt.Sprintf("%s/%02d", r.Room(), i) }
