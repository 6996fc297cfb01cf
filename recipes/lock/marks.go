package lock

import (
	"context"
	"slices"

	"github.com/troupe-go/troupe/internal/line"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
)

// marks follows who of a semaphore's line holds: each says so in his own data when he is granted, one after the other, so that it is enough to watch the
// first who has not.
type marks struct {
	session *session.Session
	held    map[string]bool // by path
	path    string          // of the one that is watched, "" for none
	news    <-chan session.Data
	stop    context.CancelFunc
}

// follow watches the first in the line who has not said that he holds.
func (m *marks) follow(ctx context.Context, entries []line.Entry) {
	held := make(map[string]bool, len(m.held))
	first := ""
	for _, e := range entries {
		switch {
		case e.Held || m.held[e.Path]:
			held[e.Path] = true
		case first == "" && e.Contender.Marks():
			first = e.Path
		}
	}
	m.held = held
	if first == m.path {
		return
	}
	m.leave()
	if m.path = first; first != "" {
		ctx, m.stop = context.WithCancel(ctx)
		m.news = line.Follow(ctx, m.session, first)
	}
}

// leave watches nobody.
func (m *marks) leave() {
	if m.stop != nil {
		m.stop()
	}
	m.path, m.news, m.stop = "", nil, nil
}

// note takes what the one that is watched says; true if it is news.
func (m *marks) note(d session.Data, open bool) bool {
	if !open {
		m.news = nil // he is gone, or the session: the line tells
		return false
	}
	notes, _ := znode.ParseNotes(d.Bytes)
	if !d.Exists || !notes.Held {
		return false
	}
	m.held[m.path] = true
	return true
}

// on is the line with what is known of its holders.
func (m *marks) on(entries []line.Entry) []line.Entry {
	entries = slices.Clone(entries)
	for i := range entries {
		entries[i].Held = m.held[entries[i].Path]
	}
	return entries
}
