package give

import (
	"fmt"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

// Site is where things lie: in Troupe's layout, or in another one's, which has no buckets.
type Site struct {
	Root   place.Root
	Flat   string             // in another layout: where the items lie
	Prefix func(p int) string // in another layout: what an item's name begins with
	Aside  string             // in another layout: where that which it does not know lies; others take every child of the queue for an item
}

// Receipt is the path of a producer's receipt.
func (s Site) Receipt(guid string) string {
	if s.Flat != "" {
		return znode.Join(s.Aside, "receipts/"+guid)
	}
	return s.Root.Receipt(guid)
}

// bucket is the path of a bucket.
func (s Site) bucket(b place.Bucket) string {
	if s.Flat != "" {
		return s.Flat
	}
	return s.Root.Bucket(b)
}

// head is what an item's path begins with.
func (s Site) head(b place.Bucket, i place.Item) string {
	if s.Flat != "" {
		return znode.Join(s.Flat, s.Prefix(i.Priority))
	}
	return znode.Join(s.bucket(b), i.Head(b.Lane))
}

func fmtNumbers(nos []uint64) []byte {
	var data []byte
	for _, no := range nos {
		data = fmt.Appendf(data, "%d ", no)
	}
	return data
}
