package lock

import (
	"context"
	"slices"

	"github.com/troupe-go/troupe/internal/line"
	"github.com/troupe-go/troupe/internal/observe"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
)

// marks follows who of a semaphore's line holds: each says so in his own data when he is granted,
// one after the other, so that it is enough to watch the first who has not.
type marks struct {
	session *session.Session
	turn    *observe.Turn
	changed func()          // there is news
	held    map[string]bool // by path
	path    string          // of the one that is watched, "" for none
	stop    context.CancelFunc
}

// follow watches the first in the line who has not said that he holds.
func (m *marks) follow(entries []line.Entry) {
	held := make(map[string]bool, len(m.held))
	first := ""
	for _, e := range entries {
		switch {
		case e.Held || m.held[e.Path]:
			held[e.Path] = true
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
		observe.Each(ctx, m.turn, line.Follow(ctx, m.session, first), m.note)
	}
}

// leave watches nobody.
func (m *marks) leave() {
	if m.stop != nil {
		m.stop()
	}
	m.path, m.stop = "", nil
}

// note takes what the one that is watched says. That it is gone, the line tells.
func (m *marks) note(d line.Sight, open bool) {
	if notes, _ := znode.ParseNotes(d.Bytes); open && d.Exists && notes.Held {
		m.held[m.path] = true
		m.changed()
	}
}

// on is the line with what is known of its holders.
func (m *marks) on(entries []line.Entry) []line.Entry {
	entries = slices.Clone(entries)
	for i := range entries {
		entries[i].Held = m.held[entries[i].Path]
	}
	return entries
}
