package zkserver

import (
	"fmt"

	"github.com/troupe-go/troupe/internal/zkserver/txlog"
)

// A server with Config.Data keeps what it does on disk: every transaction is appended to a log
// before it is carried out, and no answer and no event leaves the server before everything that
// came before it is on the disk (outbox.flush waits). Nothing waits for the disk while it holds the
// server's lock.

// defaultRotate is how large the log becomes before a snapshot takes its place.
const defaultRotate = 64 << 20

// recover begins with what the folder has. found is false if there is nothing.
func (s *Server) recover() (found bool, err error) {
	if s.store, err = txlog.Open(s.cfg.Data, s.report); err != nil {
		return false, err
	}
	m := newImage()
	if found, err = s.store.Replay(m.add); err != nil || !found {
		return false, err
	}
	if nextEpoch(m.zxid) < 0 {
		return false, fmt.Errorf("zxid 0x%x: there is no higher epoch", m.zxid)
	}
	s.tree, s.zxid = m.tree, max(s.cfg.FirstZxid, nextEpoch(m.zxid))
	for _, f := range s.fronts {
		f.tree = s.tree
	}
	for _, saved := range m.sessions {
		s.restoreSession(saved)
	}
	return true, nil
}

// keep begins to write to the folder. What the server began with instead of the folder's own is its
// first snapshot.
func (s *Server) keep(found bool) error {
	if !found {
		if err := s.store.Snapshot(s.store.Last(), s.image().records); err != nil {
			return err
		}
	}
	if err := s.store.Start(txlog.Options{Rotate: s.cfg.Rotate, Compact: s.compact}); err != nil {
		return err
	}
	s.log(&txn{zxid: s.zxid, time: s.now()}) // so that the next process begins behind this one's epoch whatever the clock says
	return nil
}

func (s *Server) report(err error) { s.cfg.Logger.Warn("the data folder", "error", err) }

// image is the present state, to be read before anybody changes it.
func (s *Server) image() *image {
	m := newImage()
	m.tree, m.zxid = s.tree, s.zxid
	for id, ss := range s.sessions {
		m.sessions[id] = ss.saved()
	}
	return m
}

// compact makes a snapshot of full logs as the next process would read them. So the server goes on
// meanwhile, and the folder is known to be readable.
func (s *Server) compact(upTo uint64) error {
	m := newImage()
	if err := s.store.ReplayTo(upTo, s.unlessClosed(m.add)); err != nil {
		return err
	}
	return s.store.Snapshot(upTo, func(put func([]byte) error) error { return m.records(s.unlessClosed(put)) })
}

// unlessClosed stops what takes long when the server is closed.
func (s *Server) unlessClosed(next func(record []byte) error) func(record []byte) error {
	return func(record []byte) error {
		select {
		case <-s.closing:
			return ErrClosed
		default:
			return next(record)
		}
	}
}

// log appends a transaction. One that does nothing has used up a number, which nobody needs to know
// afterwards: the next process begins in a higher epoch.
func (s *Server) log(t *txn) {
	if s.store != nil {
		s.store.Append(func(b []byte) []byte { return encodeTxn(b, t) })
	}
}

// Failed is closed when the disk has failed a server with Config.Data: it answers nothing any more.
// Err says why. It is nil without Config.Data.
func (s *Server) Failed() <-chan struct{} {
	if s.store == nil {
		return nil
	}
	return s.store.Failed()
}

// Err is why the server has failed.
func (s *Server) Err() error {
	if s.store == nil {
		return nil
	}
	return s.store.Err()
}
