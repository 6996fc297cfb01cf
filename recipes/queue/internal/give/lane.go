package give

import (
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

// lane is what is believed of a lane's open bucket. ZooKeeper checks it with each put; a belief
// that was wrong costs a trip.
type lane struct {
	bucket  place.Bucket
	missing bool // it is to be created
	hasNext bool // the next one exists though this one is open: somebody else made it
	fill    int  // how many children it has had, as far as is known
	weight  int  // how many items this machine has put into it
	sealed  int  // the highest number that is known to be sealed; -1 for none
	guessed bool // the bucket was not seen, only concluded
}

// lanes are all that are used.
type lanes map[place.Lane]*lane

// of is the lane as it is believed to be, given the names of the queue's children.
func (ls lanes) of(l place.Lane, top map[place.Lane]int) *lane {
	if known := ls[l]; known != nil {
		return known
	}
	n := &lane{bucket: place.Bucket{Lane: l}, sealed: -1}
	n.look(top)
	ls[l] = n
	return n
}

// look takes in a listing: the highest number of each lane.
func (n *lane) look(top map[place.Lane]int) {
	highest, some := top[n.bucket.Lane]
	n.hasNext, n.guessed, n.missing = false, false, false
	n.fill, n.weight = 0, 0
	switch {
	case some && highest > n.sealed:
		n.bucket.Number = highest
	case n.sealed >= 0 || some: // the open one is gone, which only others do
		n.bucket.Number, n.missing = n.sealed+1, true
	default:
		n.bucket.Number, n.missing = 0, true
	}
}

// turnedOut takes in that the bucket is sealed. False: it takes a listing to know more.
func (n *lane) turnedOut() bool {
	n.sealed = max(n.sealed, n.bucket.Number)
	if n.guessed {
		return false
	}
	n.bucket = n.bucket.Next()
	n.hasNext, n.missing, n.guessed = false, false, true
	n.fill, n.weight = 0, 0
	return true
}

// gone takes in that the bucket does not exist. False: it takes a listing to know more.
func (n *lane) gone() bool {
	if n.bucket.Number > 0 {
		return false
	}
	n.missing = true
	return true
}

// load is what a transaction brings into a bucket: packs are one znode each.
type load struct{ znodes, items int }

// fullWith tells whether a bucket is full with what comes. Packs may fall apart into single items,
// so these count as well.
func (n *lane) fullWith(l load, limit int) bool {
	return n.fill+l.znodes >= limit || n.weight+l.items >= 4*limit
}

// took takes in that the bucket has got so many items, the last with this sequence number, and was
// sealed with it.
func (n *lane) took(seq int32, items int, sealed bool) {
	n.missing, n.guessed, n.hasNext = false, false, false
	n.fill = int(seq) + 1
	n.weight += items
	if sealed {
		n.sealed = n.bucket.Number
		n.bucket, n.fill, n.weight = n.bucket.Next(), 0, 0
	}
}

// tops are the highest numbers in a listing of a queue.
func tops(names []string) map[place.Lane]int {
	top := make(map[place.Lane]int)
	for _, name := range names {
		if b, ok := place.ParseBucket(name); ok {
			if n, some := top[b.Lane]; !some || b.Number > n {
				top[b.Lane] = b.Number
			}
		}
	}
	return top
}
