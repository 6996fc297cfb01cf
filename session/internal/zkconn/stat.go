package zkconn

import "time"

// Stat is what ZooKeeper keeps about a znode beside its data.
type Stat struct {
	Czxid          int64     // the transaction that created it
	Mzxid          int64     // the transaction that last changed its data
	Pzxid          int64     // the transaction that last added or removed a child
	Ctime          time.Time // when it was created, by the server's clock
	Mtime          time.Time // when its data were last changed, by the server's clock
	Version        int32     // changes of its data
	Cversion       int32     // changes of its children
	Aversion       int32     // changes of its ACL
	EphemeralOwner int64     // the session that it ends with; 0 for a persistent one (containers and TTL znodes have special numbers here)
	DataLength     int32
	NumChildren    int32
}

// Mode says what kind of znode is created. The numbers are ZooKeeper's.
type Mode int32

// The kinds of znodes.
const (
	Persistent          Mode = 0
	Ephemeral           Mode = 1 // it ends with the session
	Sequential          Mode = 2 // persistent; the server appends a number of ten digits
	EphemeralSequential Mode = 3
	Container           Mode = 4 // the server deletes it some time after its last child is gone
	TTL                 Mode = 5 // the server deletes it when it has been unchanged and childless for its time to live
	SequentialTTL       Mode = 6
)
