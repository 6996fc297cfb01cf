package memory

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// deleted is what servers have shown and then no longer: by path, the how many-th. A deletion that
// one server has not logged is forgotten when that server is killed, comes back, and leads
// (ZOOKEEPER-4785); the writes of the memory's own znodes may all survive that. So the memory lists
// the lines of contenders, too. Their names hold a GUID and never come again.
type deleted map[string]int

// follow lists the lines at one server over and over. What is gone from a listing has been deleted
// by a majority. If it stands at a server that has carried out a later write, it was forgotten.
func (m *Memory) follow(ctx context.Context, conn *zk.Conn, i int) {
	stood := make(map[string][]string) // by line, in the last listing
	pairs := make(pairs)
	for ctx.Err() == nil {
		for _, line := range m.lines {
			m.mu.Lock()
			known := m.caughtUp[i]
			m.mu.Unlock()
			names, _, err := conn.Children(line)
			if err != nil {
				continue // what is missing from no listing may be there
			}
			m.compare(i, line, stood[line], names, known)
			pairs.look(m, line, names)
			stood[line] = names
		}
		select {
		case <-time.After(2 * remembering):
		case <-ctx.Done():
		}
	}
}

// compare looks at two listings of a line, one after the other, by server i, which knows so many
// of the deletions for certain.
func (m *Memory) compare(i int, line string, before, now []string, known int) {
	stands := make(map[string]bool, len(now))
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range now {
		stands[name] = true
		if n := m.deleted[line+"/"+name]; n != 0 && n <= known {
			m.forgetLocked(fmt.Sprintf("server %d has %s/%s again, which had been deleted", i, line, name))
		}
	}
	for _, name := range before {
		if path := line + "/" + name; !stands[name] && strings.HasPrefix(name, "_c_") && m.deleted[path] == 0 {
			m.deleted[path] = len(m.deleted) + 1
		}
	}
}
