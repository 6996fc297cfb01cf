package layout

import (
	"fmt"
	"hash/fnv"

	"github.com/troupe-go/troupe/internal/znode"
)

// Root is a queue's path.
type Root string

func (r Root) at(name string) string { return znode.Join(string(r), name) }

// Items is the path of the parent of the buckets with items.
func (r Root) Items() string { return r.at("items") }

// Claims is the path of the parent of the buckets with claims.
func (r Root) Claims() string { return r.at("claims") }

// Later is the path of the parent of the buckets of what is not due.
func (r Root) Later() string { return r.at("later") }

// Line is the path below which idle consumers stand in line.
func (r Root) Line() string { return r.at("line") }

// Bell is the path of the znode that is set with whatever makes something available.
func (r Root) Bell() string { return r.at("bell") }

// Consumers is the path below which each consumer that lives has an ephemeral znode.
func (r Root) Consumers() string { return r.at("consumers") }

// Consumer is the path of a consumer's ephemeral znode.
func (r Root) Consumer(guid string) string { return znode.Join(r.Consumers(), guid) }

// Receipts is the path of the parent of the producers' receipts.
func (r Root) Receipts() string { return r.at("receipts") }

// Receipt is the path of a producer's receipt.
func (r Root) Receipt(guid string) string { return znode.Join(r.Receipts(), guid) }

// Size is the path of the znode with the size of a queue that has a capacity.
func (r Root) Size() string { return r.at("size") }

// Dead is the path of the dead letters, unless another was chosen.
func (r Root) Dead() string { return r.at("dead") }

// Bucket is the path of a bucket of items, or of what is not due.
func (r Root) Bucket(b Bucket) string {
	if b.Lane.Later {
		return znode.Join(r.Later(), b.Name())
	}
	return znode.Join(r.Items(), b.Name())
}

// ClaimsOf is the path of the claims on the items of a bucket.
func (r Root) ClaimsOf(b Bucket) string { return znode.Join(r.Claims(), b.Name()) }

// Claim is the path of the claim on the item with a number in a bucket.
func (r Root) Claim(b Bucket, seq int32) string {
	return znode.Join(r.ClaimsOf(b), ClaimName(seq))
}

// IDs is the path of the parent of what stands for ids.
func (r Root) IDs() string { return r.at("ids") }

// ID is the path of the znode that stands for an item's id, and its parent: ids are spread over
// 256 parents, so that each can be listed.
func (r Root) ID(id string) (path, parent string) {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // never fails
	parent = znode.Join(r.IDs(), fmt.Sprintf("%02x", h.Sum32()&0xff))
	return znode.Join(parent, id), parent
}
