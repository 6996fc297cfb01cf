package memory

import (
	"strings"
	"time"

	"github.com/troupe-go/troupe/test/chaos/internal/history"
)

// pairs are contenders of which two with one GUID stand in a line, by line and GUID: since when
// they have been seen, by one server.
type pairs map[string]pair

type pair struct {
	since time.Time
	told  bool
}

// lasting is how long two have to stand to be told of.
const lasting = 300 * time.Millisecond

// look takes a listing of a line.
func (p pairs) look(m *Memory, line string, names []string) {
	count := make(map[string]int)
	for _, name := range names {
		if guid, ok := guidOf(name); ok {
			count[guid]++
		}
	}
	for key := range p {
		if l, guid, _ := strings.Cut(key, " "); l == line && count[guid] < 2 {
			delete(p, key)
		}
	}
	for guid, n := range count {
		key := line + " " + guid
		one := p[key]
		switch {
		case n < 2 || one.told:
			continue
		case one.since.IsZero():
			one.since = time.Now()
		case time.Since(one.since) >= lasting:
			one.told = true
			m.mu.Lock()
			m.twice = append(m.twice, history.Event{Kind: history.Twice, At: history.Now(), Thing: line, Value: guid})
			m.mu.Unlock()
		}
		p[key] = one
	}
}

// guidOf is the GUID in the name of a protected znode, as "_c_<guid>-lock-0000000001".
func guidOf(name string) (string, bool) {
	const prefix, length = "_c_", 36
	rest, ok := strings.CutPrefix(name, prefix)
	if !ok || len(rest) < length {
		return "", false
	}
	return rest[:length], true
}

// Twice returns what has been seen twice since the last call.
func (m *Memory) Twice() []history.Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	twice := m.twice
	m.twice = nil
	return twice
}
