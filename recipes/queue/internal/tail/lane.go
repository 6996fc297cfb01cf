package tail

import "github.com/troupe-go/troupe/recipes/queue/internal/place"

// lane is what is believed of a lane's open bucket.
type lane struct {
	bucket  place.Bucket
	missing bool // it is to be created
	hasNext bool // the next one exists though this one is open: somebody else made it
	fill    int  // how many children it has had, as far as is known
	weight  int  // how many items were appended here
	sealed  int  // the highest number that is known to be sealed, or gone; -1 for none
	seen    int  // the highest number that was there for certain; -1 for none
	guessed bool // the bucket was not seen, only concluded
}

// look takes in a listing: the highest number of each lane. One that was there and is gone is not
// made again: what is put into it then would have numbers that the cursor has passed.
func (n *lane) look(top map[place.Lane]int) {
	highest, some := top[n.bucket.Lane]
	was := n.bucket.Number
	n.hasNext, n.guessed, n.missing = false, false, false
	if !some || highest < n.seen {
		n.sealed = max(n.sealed, n.seen)
	} else {
		n.seen = highest
	}
	switch {
	case some && highest > n.sealed:
		n.bucket.Number = highest
	case n.sealed >= 0 || some: // the open one is gone, which only others do
		n.bucket.Number, n.missing = n.sealed+1, true
	default:
		n.bucket.Number, n.missing = 0, true
	}
	if n.bucket.Number != was {
		n.fill, n.weight = 0, 0
	}
}

// turnedOut takes in that the bucket is sealed. False: it takes a listing to know more.
func (n *lane) turnedOut() bool {
	n.sealed = max(n.sealed, n.bucket.Number)
	if n.guessed {
		return false
	}
	n.next()
	return true
}

// next concludes that the next bucket is open.
func (n *lane) next() {
	n.bucket = n.bucket.Next()
	n.hasNext, n.missing, n.guessed = false, false, true
	n.fill, n.weight = 0, 0
}

// gone takes in that the bucket does not exist. False: it takes a listing to know more.
func (n *lane) gone() bool {
	if n.bucket.Number > 0 || n.seen >= 0 {
		return false
	}
	n.missing = true
	return true
}
