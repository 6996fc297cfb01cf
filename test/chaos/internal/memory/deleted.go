package memory

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// deleted has the paths of deleted contenders, each with its number among them. A deletion that one
// server has not logged is forgotten when that server is killed, comes back, and leads
// (ZOOKEEPER-4785); the writes of the memory's own znodes may all survive that. So the memory lists
// the contenders, too. Their names contain a GUID and are never used again.
type deleted map[string]int

// follow lists the contenders at one server over and over. One that has vanished from a listing has
// been deleted by a majority. If a server that has carried out a later write has it, the deletion
// was forgotten.
func (m *Memory) follow(ctx context.Context, conn *zk.Conn, i int) {
	last := make(map[string][]string) // by parent, the last listing
	pairs := make(pairs)
	for ctx.Err() == nil {
		for _, parent := range m.parents {
			m.mu.Lock()
			known := m.caughtUp[i]
			m.mu.Unlock()
			names, _, err := conn.Children(parent)
			if err != nil {
				continue // without an older listing, no contender is missing from it
			}
			m.compare(i, parent, last[parent], names, known)
			pairs.add(m, parent, names)
			last[parent] = names
		}
		select {
		case <-time.After(2 * remembering):
		case <-ctx.Done():
		}
	}
}

// compare compares two listings of a parent, one after the other, by server i, which has carried
// out known of the deletions for certain.
func (m *Memory) compare(i int, parent string, before, now []string, known int) {
	listed := make(map[string]bool, len(now))
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range now {
		listed[name] = true
		if n := m.deleted[parent+"/"+name]; n != 0 && n <= known {
			m.forgetLocked(fmt.Sprintf("server %d has %s/%s again, which had been deleted", i, parent, name))
		}
	}
	for _, name := range before {
		if path := parent + "/" + name; !listed[name] && strings.HasPrefix(name, "_c_") && m.deleted[path] == 0 {
			m.deleted[path] = len(m.deleted) + 1
		}
	}
}
