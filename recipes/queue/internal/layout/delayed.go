package layout

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

// Delayed is what the name of a znode with items says that are not due: in a later bucket, until
// somebody moves them to the end of their lane.
//
//	<guid>-<count>-<due>,<priority>.<shard>-<sequence>
type Delayed struct {
	Znode
	Due  int64 // in milliseconds of the servers' clock
	Lane place.Lane
}

// Name is that of the znode.
func (d Delayed) Name() string { return fmt.Sprintf("%s%010d", d.Head(), d.Seq) }

// Head is what the name begins with: the server appends the sequence number.
func (d Delayed) Head() string {
	return fmt.Sprintf("%s%d,%d.%d-", d.Znode.Head(), d.Due, d.Lane.Priority, d.Lane.Shard)
}

// ParseDelayed takes a name apart; false if no queue gives such a name.
func ParseDelayed(name string) (Delayed, bool) {
	head, seq, ok := znode.Sequence(name)
	if !ok || seq < 0 {
		return Delayed{}, false
	}
	d := Delayed{}
	var rest string
	if d.Znode, rest, ok = parseHead(head); !ok {
		return Delayed{}, false
	}
	d.Seq = seq
	due, lane, _ := strings.Cut(strings.TrimSuffix(rest, "-"), ",")
	priority, shard, _ := strings.Cut(lane, ".")
	var err error
	if d.Due, err = strconv.ParseInt(due, 10, 64); err != nil || d.Due < 0 {
		return Delayed{}, false
	}
	d.Lane.Priority, _ = strconv.Atoi(priority) // the name is compared with what it says
	d.Lane.Shard, _ = strconv.Atoi(shard)
	return d, d.Lane.Valid() && d.Name() == name
}
