package consume

import "github.com/troupe-go/troupe/recipes/queue/internal/layout"

// Config is what a machine knows of itself.
type Config struct {
	Root     layout.Root
	GUID     string // of this incarnation: the name of its znode in consumers/, and the data of its claims
	First    uint64 // the numbers of its items are greater: commands about others are for a machine before it, whose items are lost
	Takes    bool   // an item that was received does not count among those that are wanted
	Prefetch int    // how many are claimed and not settled, at the most
	Attempts int    // after how many an item is a dead letter; 0: never
	Dead     layout.Root
	Seed     uint64 // of its random draws
}
