package contend

import "github.com/troupe-go/troupe/machine"

// requests are those of a machine that are pending.
type requests = machine.Requests[request]

// request is the key of one: what is asked for, and of which znode, if several of the kind may be
// pending.
type request struct {
	kind kind
	of   string
}

type kind int

const (
	readingNames kind = iota + 1 // the contenders' names
	watching                     // of a path: see watches
	ordering                     // of a contender's name: its Czxid
	readingLimit                 // without a watch
	writingLimit                 // because nobody had set it
	marking                      // that the own znode holds
	delaying                     // the record, or the delay before it is written
	waiting                      // before it is worth to look ahead
	pausing                      // before the own znode is read, while it is held
)

// ask emits a request, and returns its number.
func (m *Machine) ask(r machine.Request, as kind) uint64 {
	return m.requests.Ask(r, request{kind: as})
}

func (m *Machine) pending(as kind) bool { return m.requests.Pending(request{kind: as}) }
