package seam

import (
	"time"

	"github.com/troupe-go/troupe/internal/znode"
)

// Client is the part of a session that a recipe uses. It is told events in order, and each of its
// requests is bound to an epoch, by number. Package session describes the requests. It has more of
// them, with types above this package, which package recipe knows.
type Client interface {
	Await(number uint64, path string, done func(Seen))
	Ensure(number uint64, path string, container bool, data []byte, done func(error))
	Follow(number uint64, path string) (held, ok bool)
	Join(number uint64, j Join, done func(Joined))
	JoinList(number uint64, j Join, joined func(Joined), listed func(Listed))
	Leave()
	List(number uint64, path string, watch bool, done func(Listed))
	MultiRead(number uint64, queries []Query, done func(found []Found, err error))
	Read(number uint64, path string, watch bool, done func(Seen))
	Recover(number uint64, done func(left []string, err error))
	Remove(number uint64, path string, done func(error))
	StandBy(number uint64, on bool)
	UntilExpiry()
	Unwatch(number uint64, path string)
}

// Event is an event that a [Client] is told: EpochBegan, Suspended, Resumed, TrustEnded,
// TrustGained and Fired of package machine, and those below. The events of one epoch come between
// its EpochBegan and its EpochEnded.
type Event any

type (
	// EpochEnded: the ZooKeeper session is over. Gone tells whether ZooKeeper has confirmed that,
	// so that every ephemeral znode of it is gone: it has expired (session.ErrExpired), or was
	// closed after a failure in this process (session.ErrRestarted; it comes only when that is
	// confirmed). Gone is false for an epoch that ends with the session, and SessionEnded says next
	// why: its znodes may exist until ZooKeeper lets it expire, also those that were to be deleted.
	EpochEnded struct {
		Epoch uint64
		Cause error
		Gone  bool
	}

	// SessionEnded: there will be no further epoch and no further event.
	SessionEnded struct{ Cause error }
)

// Join asks for a place in a queue: an ephemeral sequential znode. Of the form Alone it is an
// ephemeral znode with just that name, which is refused while there is one.
type Join struct {
	Parent string // of the queue; made, as a container, with all above it, if it is missing
	Name   string // the beginning of the znode's name, behind the GUID that protects it: "lock-"
	Form   znode.Form
	Data   []byte // if there are none, and the form has no GUID in the name, they are a GUID

	// Replace is the path of an own znode that is deleted in the same transaction, "" for none. If
	// it is gone already, that is fine.
	Replace string
}

// Joined answers Join.
type Joined struct {
	Epoch uint64
	Path  string
	Stat  Stat  // of the znode as it was created; the zero one if that was not told, as by an old server
	Err   error // definite: then nothing is left behind
}

// Listed answers List, and the listing of JoinList.
type Listed struct {
	Epoch      uint64
	Path       string   // that was listed
	Names      []string // of the children, in no order
	Contenders any      // a *znode.Contenders; nil: it is to be made of Names
	Stat       Stat
	Err        error
}

// Seen answers Read, and Await without Data.
type Seen struct {
	Epoch  uint64
	Path   string
	Exists bool
	Data   []byte
	Stat   Stat
	Err    error
}

// Query is one of the reads of MultiRead: of a znode, or of the names of its children.
type Query struct {
	Path     string
	Children bool
}

// Found is the result of a Query.
type Found struct {
	Data  []byte
	Names []string // of the children, in no order
	Stat  Stat     // of the znode; zero with Children, since a multiRead has none for them
	Err   error    // definite
}

// Stat describes a znode: what ZooKeeper keeps beside its data.
type Stat struct {
	Czxid          int64     // the transaction that created it
	Mzxid          int64     // the transaction that last changed its data
	Ctime          time.Time // when it was created, by the server's clock
	Mtime          time.Time // when its data were last changed, by the server's clock
	Version        int32     // changes of its data
	Cversion       int32     // changes of its children
	Aversion       int32     // changes of its ACL
	EphemeralOwner int64     // the session that it ends with; 0 for a persistent one (containers and TTL znodes have special numbers here)
	DataLength     int32
	NumChildren    int32
	Pzxid          int64 // the transaction that last added or removed a child
}
