package layout

import (
	"strconv"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

// Root is a queue's path.
type Root string

// Work is the path of the buckets' parent.
func (r Root) Work() string { return znode.Join(string(r), "work") }

// Bucket is the path of a bucket.
func (r Root) Bucket(b place.Bucket) string { return znode.Join(r.Work(), b.Name()) }

// Returned is the path below which items are that came back.
func (r Root) Returned() string { return znode.Join(r.Work(), "returned") }

// Living is the path below which each consumer that lives has an ephemeral znode.
func (r Root) Living() string { return znode.Join(r.Work(), "alive") }

// Alive is the path of a consumer's ephemeral znode.
func (r Root) Alive(tag string) string { return znode.Join(r.Living(), tag) }

// Journals is the path below which the journals are.
func (r Root) Journals() string { return znode.Join(string(r), "journal") }

// Journal is the path of a consumer's journal.
func (r Root) Journal(tag string) string { return znode.Join(r.Journals(), tag) }

// Cursor is the path of the cursor.
func (r Root) Cursor() string { return znode.Join(string(r), "cursor") }

// Line is the path below which the consumers stand in line that have room for items.
func (r Root) Line() string { return znode.Join(string(r), "line") }

// ID is the path that stands for the id of a living item.
func (r Root) ID(id string) string { return place.Root(r).ID(id) }

// Kept is a child of the cursor: a server does not delete the cursor as long as it is there. An
// empty cursor would have everything claimed again, also what somebody has.
func (r Root) Kept() string { return znode.Join(r.Cursor(), "kept") }

// Base are the znodes that are there before anything is claimed, parents first.
func (r Root) Base() []string {
	return []string{r.Returned(), r.Living(), r.Journals(), r.Cursor(), r.Kept(), r.Line()}
}

// Marks is the path below which there is a mark for each item that was removed from others that
// were put together, for those who count.
func (r Root) Marks() string { return znode.Join(string(r), "removed") }

// Mark is the path of such a mark.
func (r Root) Mark(p Position, item int) string { return znode.Join(r.Marks(), MarkName(p, item)) }

// MarkName is its name.
func MarkName(p Position, item int) string { return p.String() + ":" + strconv.Itoa(item) }

// Back is the path of a znode that came back.
func (r Root) Back(b Returned) string { return znode.Join(r.Returned(), b.Name()) }
