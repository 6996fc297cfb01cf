package zkserver

import (
	"errors"
	"fmt"
	"slices"

	"github.com/troupe-go/troupe/internal/zkserver/tree"
	"github.com/troupe-go/troupe/internal/zkserver/treefile"
)

// begin fills a new server, which nobody has seen yet, with what its configuration says.
func (s *Server) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cfg.Tree != nil {
		f, err := treefile.Read(s.cfg.Tree)
		s.cfg.Tree = nil
		if err == nil {
			err = s.restore(f)
		}
		if err != nil {
			return fmt.Errorf("zkserver: %w: %w", ErrTree, err)
		}
	}
	s.resume()
	return nil
}

// restore makes what a file holds, as if all had come in one transaction. A server's whole state
// goes on in a higher epoch.
func (s *Server) restore(f *treefile.File) error {
	for _, saved := range f.Sessions {
		if s.sessions[saved.ID] != nil || !tree.Ephemeral(saved.ID) || saved.ID > lastSessionID {
			return fmt.Errorf("session 0x%x: it occurs twice, or is no id of a session", uint64(saved.ID))
		}
		ss := newSession(saved.ID, saved.Timeout)
		if len(saved.Password) == len(ss.password) {
			copy(ss.password[:], saved.Password)
		}
		s.sessions[ss.id] = ss
	}
	apply := func(changes []tree.Change) {
		for i := range changes {
			s.tree.Apply(&changes[i], s.zxid+1, s.now())
		}
	}
	const some = 1000 // so that a large file needs no large plan
	for znodes := range slices.Chunk(f.Znodes, some) {
		changes, err := s.plan(znodes)
		if err != nil {
			return err
		}
		apply(changes)
	}
	apply(counts(f.Znodes))
	for i := range f.Znodes {
		if z := &f.Znodes[i]; z.Stat != nil {
			s.tree.Stamp(z.Path, z.Stat)
		}
	}
	if len(f.Znodes) > 0 {
		s.zxid++
	}
	if f.Zxid >= 0 {
		next := (f.Zxid>>32 + 1) << 32 // whoever has seen the last of that epoch has seen nothing later
		if next < 0 {
			return errors.New("the zxid has no higher epoch")
		}
		s.zxid = max(s.zxid, next)
	}
	return nil
}

// resume lets the time of restored sessions run, each for its whole timeout, as the real server
// does; ephemerals without a session go.
func (s *Server) resume() {
	for _, f := range s.fronts {
		f.applied = s.zxid
	}
	for _, ss := range s.sorted() {
		s.expiry.add(s, ss)
		s.nextID = max(s.nextID, ss.id+1)
	}
	for _, owner := range s.tree.EphemeralOwners() {
		if s.sessions[owner] == nil {
			s.commit(&txn{changes: s.tree.CloseSession(owner), ends: owner}, nil)
		}
	}
	s.armReaper()
}
