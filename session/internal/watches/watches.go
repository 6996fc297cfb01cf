package watches

// Kind tells the two watches of a znode apart.
type Kind int

// The kinds of watches.
const (
	Data     Kind = iota // its data and its end, or its birth
	Children             // its children and its end
)

// Key names a watch.
type Key struct {
	Path string // absolute
	Kind Kind
}

// EventType is the kind of an event, by ZooKeeper's numbers.
type EventType int32

// The events of watches.
const (
	Created         EventType = 1
	Deleted         EventType = 2
	DataChanged     EventType = 3
	ChildrenChanged EventType = 4
)

// Event says what happened to a znode.
type Event struct {
	Path string // absolute
	Type EventType
}

// keys are the watches that an event ends.
func (e Event) keys() []Key {
	data, children := Key{e.Path, Data}, Key{e.Path, Children}
	switch e.Type {
	case ChildrenChanged:
		return []Key{children}
	case Deleted:
		return []Key{data, children}
	}
	return []Key{data}
}

// Client depends on watches. Clients are compared: each is a pointer.
type Client interface {
	Left() bool // it wants no events any more
}

// Request is the request of a read to ZooKeeper.
type Request interface {
	Send(r *Read, watch bool) // once; its outcome is passed to [Table.Done]
	Pending() bool            // it still waits for an answer, as far as the table's owner knows
}

// Server does for a table what is not a read.
type Server interface {
	// Tell passes an event to a client, behind the answers and the events that were passed before.
	Tell(c Client, e Event)
	// Watched tells whether the server was asked for a watch that has not fired since, as far as is
	// known on the wire: the table hears of answers later than of the events behind them.
	Watched(key Key) bool
	// Remove asks the server to forget watches; the outcome is passed to [Table.Removed].
	Remove(keys []Key)
}

// Read is one try of a read with a watch.
type Read struct {
	Client  Client
	Key     Key
	Request Request // nil once answered

	answered bool
	void     bool // its answer was lost: events held back for it are told by the read that follows
	forgone  bool // its client wants no event of it any more

	before, after *Read // the other subscriptions of its client
}
