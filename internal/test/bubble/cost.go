package bubble

import (
	"runtime/debug"

	cmap "github.com/orcaman/concurrent-map"
)

// A bubble lives for milliseconds, and a package's tests are thousands of them. So the costs of a
// process at its start, and of the garbage that each bubble leaves, count.
func init() {
	// The actor library allocates 1,024 of these maps with the first actor of the process, each of
	// 32 shards: about three megabytes. One shard is the same map with one mutex. It is set before
	// there is any map.
	cmap.SHARD_COUNT = 1

	// Each bubble makes its server and sessions anew: with a heap as small as that of most tests, a
	// few of them would begin a garbage collection.
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(512 << 20)
}
