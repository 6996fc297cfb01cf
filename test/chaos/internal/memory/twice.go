package memory

import (
	"strings"
	"time"

	"github.com/troupe-go/troupe/test/chaos/internal/history"
)

// pairs are two contenders with one GUID below one parent, by parent and GUID, as one server shows
// them.
type pairs map[string]pair

type pair struct {
	since time.Time
	told  bool
}

// lasting is how long a pair has to exist to be reported.
const lasting = 300 * time.Millisecond

// add adds a listing of a parent.
func (p pairs) add(m *Memory, parent string, names []string) {
	count := make(map[string]int)
	for _, name := range names {
		if guid, ok := guidOf(name); ok {
			count[guid]++
		}
	}
	for key := range p {
		if l, guid, _ := strings.Cut(key, " "); l == parent && count[guid] < 2 {
			delete(p, key)
		}
	}
	for guid, n := range count {
		key := parent + " " + guid
		one := p[key]
		switch {
		case n < 2 || one.told:
			continue
		case one.since.IsZero():
			one.since = time.Now()
		case time.Since(one.since) >= lasting:
			one.told = true
			m.mu.Lock()
			m.twice = append(m.twice, history.Event{Kind: history.Twice, At: history.Now(), Thing: parent, Value: guid})
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

// Twice returns the pairs since the last call.
func (m *Memory) Twice() []history.Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	twice := m.twice
	m.twice = nil
	return twice
}
