package zkserver

import (
	"fmt"
	"strings"

	"github.com/troupe-go/troupe/internal/zkserver/tree"
)

// Dump describes the whole tree, all sessions and their watches, for a human.
func (s *Server) Dump() string {
	watches := Admin{s}.Watches()
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "zxid 0x%x, %d znodes, %d sessions\n", s.zxid, s.tree.Len(), len(s.sessions))
	for _, ss := range s.sorted() {
		info := s.describe(ss)
		fmt.Fprintf(&b, "session 0x%x timeout=%v server=%d ephemerals=%v\n", uint64(ss.id), info.Timeout, info.Front, info.Ephemeral)
	}
	for _, w := range watches {
		fmt.Fprintf(&b, "watch %s session=0x%x data=%t children=%t persistent=%t recursive=%t\n", w.Path, uint64(w.SessionID), w.Data, w.Children, w.Persistent, w.Recursive)
	}
	s.tree.Walk(func(n *tree.Node) {
		st := n.Stat()
		fmt.Fprintf(&b, "%s %q czxid=0x%x mzxid=0x%x pzxid=0x%x version=%d cversion=%d aversion=%d", named(n.Path()), n.Data(), st.Czxid, st.Mzxid, st.Pzxid,
			st.Version, st.Cversion, st.Aversion)
		if st.EphemeralOwner != 0 {
			fmt.Fprintf(&b, " owner=0x%x", uint64(st.EphemeralOwner))
		}
		b.WriteByte('\n')
	})
	return b.String()
}
