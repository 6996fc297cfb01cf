package zkserver

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// wchp lists the sessions of the data watches by path. Like the real server it leaves out those on
// children.
func (f *Front) wchp() string {
	lists := make(map[string][]string)
	f.data.Each(func(path string, c *conn) {
		lists[path] = append(lists[path], fmt.Sprintf("\t0x%x\n", uint64(c.session.id)))
	})
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(lists)) {
		slices.Sort(lists[path])
		b.WriteString(path + "\n" + strings.Join(lists[path], ""))
	}
	return b.String() + "\n"
}

// wchs counts the data watches, as wchp lists them.
func (f *Front) wchs() string {
	conns, paths := make(map[*conn]struct{}), make(map[string]struct{})
	f.data.Each(func(path string, c *conn) { conns[c], paths[path] = struct{}{}, struct{}{} })
	return fmt.Sprintf("%d connections watching %d paths\nTotal watches:%d\n", len(conns), len(paths), f.data.Len())
}

const date = "Mon Jan 02 15:04:05 MST 2006" // as Java writes it

// dumpWord lists sessions, and their ephemerals.
func (f *Front) dumpWord() string {
	var b strings.Builder
	b.WriteString("SessionTracker dump:\n")
	if len(f.s.fronts) == 1 || f.leads() {
		f.s.sessionSets(&b)
	} else {
		f.s.globalSessions(&b)
	}
	owners := f.tree.EphemeralOwners()
	fmt.Fprintf(&b, "ephemeral nodes dump:\nSessions with Ephemerals (%d):\n", len(owners))
	for _, id := range owners {
		fmt.Fprintf(&b, "0x%x:\n", uint64(id))
		for _, path := range f.tree.Ephemerals(id) {
			b.WriteString("\t" + path + "\n")
		}
	}
	b.WriteString(f.connectionSets())
	return b.String()
}

// sessionSets lists sessions by the time at which they expire, as who counts it does.
func (s *Server) sessionSets(b *strings.Builder) {
	byTick := make(map[int64][]string)
	for _, ss := range s.sorted() {
		byTick[ss.deadline] = append(byTick[ss.deadline], fmt.Sprintf("\t0x%x\n", uint64(ss.id)))
	}
	fmt.Fprintf(b, "Session Sets (%d)/(%d):\n", len(byTick), len(s.sessions))
	for _, tick := range slices.Sorted(maps.Keys(byTick)) {
		fmt.Fprintf(b, "%d expire at %s:\n%s", len(byTick[tick]), s.tickTime(tick).UTC().Format(date), strings.Join(byTick[tick], ""))
	}
}

// globalSessions lists sessions with their timeouts, which is all that a follower knows.
func (s *Server) globalSessions(b *strings.Builder) {
	fmt.Fprintf(b, "Global Sessions(%d):\n", len(s.sessions))
	for _, ss := range s.sorted() {
		fmt.Fprintf(b, "0x%x\t%dms\n", uint64(ss.id), ss.timeout.Milliseconds())
	}
}

// connectionSets lists connections by the time until which the real server would keep them without
// a word from them: their timeout, or ten seconds for those without a session, at whole multiples
// of ten seconds.
func (f *Front) connectionSets() string {
	const without = 10 * time.Second
	sets := make(map[time.Time][]string)
	for _, c := range f.sortedConns() {
		id, timeout := uint64(0), without
		if c.session != nil {
			id, timeout = uint64(c.session.id), c.timeout
		}
		until := c.arrived.Add(timeout).Truncate(without).Add(without)
		sets[until] = append(sets[until], fmt.Sprintf("\tip: /%s sessionId: 0x%x\n", c.transport.RemoteAddr(), id))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Connections dump:\nConnections Sets (%d)/(%d):\n", len(sets), len(f.conns))
	for _, until := range slices.SortedFunc(maps.Keys(sets), time.Time.Compare) {
		fmt.Fprintf(&b, "%d expire at %s:\n%s", len(sets[until]), until.UTC().Format(date), strings.Join(sets[until], ""))
	}
	return b.String()
}
