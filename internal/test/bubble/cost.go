package bubble

import (
	"runtime/debug"

	cmap "github.com/orcaman/concurrent-map"
)

// A bubble lives for milliseconds, and a package's tests are thousands of them. Costs of a process
// that arise once, or for each system and connection, would be most of their time.
func init() {
	// The actor library allocates 1,024 of these maps for every actor system, each of 32 shards:
	// about three megabytes. One shard is the same map with one mutex. It is set before there is
	// any map.
	cmap.SHARD_COUNT = 1

	// A new connection brings the ZooKeeper library's buffer of 1.5 MB. With a heap that is small
	// otherwise, every second one would begin a garbage collection.
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(512 << 20)
}
