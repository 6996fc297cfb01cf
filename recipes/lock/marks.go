package lock

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipes/internal/contenders"
	"github.com/troupe-go/troupe/recipes/internal/observe"
	"github.com/troupe-go/troupe/session"
)

// marks follows which contenders of a semaphore hold. Each writes a mark into its own data when it
// is granted, one after the other, so it is enough to watch the first one without a mark.
type marks struct {
	session *session.Session
	turn    *observe.Turn
	changed func()               // called when held has changed
	held    map[string]time.Time // when each was granted, by path; zero if that is unknown
	path    string               // of the contender that is watched, "" for none
	stop    context.CancelFunc
}

// follow watches the first contender in the queue without a mark.
func (m *marks) follow(entries []contenders.Entry) {
	held := make(map[string]time.Time, len(m.held))
	first := ""
	for _, e := range entries {
		at, noted := m.held[e.Path]
		switch {
		case e.Held || noted:
			held[e.Path] = cmp.Or(at, e.Granted)
		case first == "" && e.Contender.Marks() && !e.Unread:
			first = e.Path
		}
	}
	m.held = held
	if first == m.path {
		return
	}
	m.leave()
	if m.path = first; first != "" {
		var ctx context.Context
		ctx, m.stop = context.WithCancel(m.turn.Context())
		observe.Each(ctx, m.turn, contenders.Follow(ctx, m.session, first), m.note)
	}
}

// leave stops watching.
func (m *marks) leave() {
	if m.stop != nil {
		m.stop()
	}
	m.path, m.stop = "", nil
}

// note takes the data of the contender that is watched. Its deletion is reported by the queue.
func (m *marks) note(d contenders.Observation, open bool) {
	if notes, _ := znode.ParseNotes(d.Bytes); open && d.Exists && notes.Held {
		m.held[m.path] = contenders.Granted(d.Stat)
		m.changed()
	}
}

// on is the queue with the marks known so far.
func (m *marks) on(entries []contenders.Entry) []contenders.Entry {
	entries = slices.Clone(entries)
	for i := range entries {
		entries[i].Granted, entries[i].Held = m.held[entries[i].Path]
	}
	return entries
}
