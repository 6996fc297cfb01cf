package bubble

import cmap "github.com/orcaman/concurrent-map"

// The actor library allocates 1,024 of these maps for every actor system, each of 32 shards: about
// three megabytes. That was a third of the time of the tests of sessions. One shard is the same map
// with one mutex; it is set before there is any.
func init() { cmap.SHARD_COUNT = 1 }
