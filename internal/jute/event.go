package jute

// EventType says what happened to a watched znode.
type EventType int32

// The events of a watched znode.
const (
	NodeCreated         EventType = 1 // it did not exist and was watched by exists
	NodeDeleted         EventType = 2
	NodeDataChanged     EventType = 3
	NodeChildrenChanged EventType = 4 // a child came or went; changes inside a child don't count
)

// String is ZooKeeper's name of the type.
func (t EventType) String() string {
	switch t {
	case NodeCreated:
		return "NodeCreated"
	case NodeDeleted:
		return "NodeDeleted"
	case NodeDataChanged:
		return "NodeDataChanged"
	case NodeChildrenChanged:
		return "NodeChildrenChanged"
	}
	return "None"
}

// StateConnected is the state that every event about a znode carries.
const StateConnected int32 = 3

// Event is the body of a notification.
type Event struct {
	Type  EventType
	State int32
	Path  string
}

// Encode writes the event with the header that notifications have: with the zxid of what is told,
// or -1.
func (e *Event) Encode(w *Writer, zxid int64) {
	w.Int(XidEvent)
	w.Long(zxid)
	w.Int(0)
	w.Int(int32(e.Type))
	w.Int(e.State)
	w.Text(e.Path)
}

// Decode reads the event; the header was read before.
func (e *Event) Decode(r *Reader) {
	e.Type = EventType(r.Int())
	e.State = r.Int()
	e.Path = r.Text()
}
