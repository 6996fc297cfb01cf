package recipe

import "github.com/troupe-go/troupe/internal/znode"

// Form is the form of the names of contenders' znodes. It says how an instance recognises its own
// znode after a reply was lost: by a GUID in the name, or, in the forms from [OfSession] on, by the
// owner and the data.
type Form = znode.Form

// The forms. Those of other libraries are for paths that are shared with them.
const (
	Dashed    = znode.Dashed    // _c_<guid>-<name><number>: the default, also Curator's
	Undashed  = znode.Undashed  // _c_<guid without dashes>-<name><number>: go-zookeeper
	Bare      = znode.Bare      // <guid without dashes><name><number>: kazoo
	OfSession = znode.OfSession // <name><session id>-<number>: WriteLock of ZooKeeper's Java recipes
	Plain     = znode.Plain     // <name><number>: LeaderElectionSupport of ZooKeeper's Java recipes
	Alone     = znode.Alone     // the znode at the path itself: there is no queue
)
