package give

import "github.com/troupe-go/troupe/recipes/queue/internal/place"

// crate is what one znode is made of: an item, or a pack of items that are put together.
type crate struct {
	items  []Item
	packed bool
	first  int // the number of the first, from 1, among all that are put together
}

// Bounds of a pack. Whoever takes a part of it writes the rest anew.
const (
	mostPacked = 64
	mostBytes  = 16 << 10
)

// crates divides what is wished into znodes.
func (j *job) crates() []crate {
	var all []crate
	size := 0
	for n, i := range j.items {
		if last := len(all) - 1; i.Together && last >= 0 && len(all[last].items) < mostPacked && size+len(i.Data) <= mostBytes {
			all[last].items = j.items[all[last].first-1 : n+1]
			size += len(i.Data)
			continue
		}
		all = append(all, crate{items: j.items[n : n+1], packed: i.Together, first: n + 1})
		size = len(i.Data)
	}
	return all
}

// name is what the pack's name begins with.
func (c crate) name() string {
	i := c.items[0]
	return place.Pack{GUID: place.Member(i.GUID, 0), Priority: i.Priority, First: c.first, Last: c.first + len(c.items) - 1}.Head()
}

func (c crate) data() []byte {
	data := make([][]byte, len(c.items))
	for n, i := range c.items {
		data[n] = i.Data
	}
	return place.Wrap(data)
}
