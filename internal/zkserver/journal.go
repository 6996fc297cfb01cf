package zkserver

import "github.com/troupe-go/troupe/internal/jute"

// journal keeps the last requests: so many of them at most, and so many bytes.
type journal struct {
	limit    int
	maxBytes int
	kept     []*Request // from first on, oldest first
	first    int
	bytes    int
}

// add keeps a request, at the expense of the oldest. One alone is kept however large it is.
func (j *journal) add(rq *Request) {
	if j.limit == 0 || rq == nil {
		return
	}
	j.kept = append(j.kept, rq)
	j.bytes += rq.size()
	for n := len(j.kept) - j.first; n > j.limit || n > 1 && j.bytes > j.maxBytes; n-- {
		j.bytes -= j.kept[j.first].size()
		j.kept[j.first] = nil
		j.first++
	}
	if j.first > len(j.kept)/2 {
		j.kept = append(j.kept[:0], j.kept[j.first:]...)
		clear(j.kept[len(j.kept):cap(j.kept)])
		j.first = 0
	}
}

// size is about how much memory a request takes.
func (rq *Request) size() int {
	const fixed = 400 // the struct, and what the parts of a multi and the entries of an ACL take beside their contents
	n := fixed + len(rq.Path) + len(rq.Created) + len(rq.Data)
	for _, path := range rq.Paths {
		n += fixed/20 + len(path)
	}
	for i := range rq.Ops {
		n += fixed + len(rq.Ops[i].Path) + len(rq.Ops[i].Data) + aclSize(rq.Ops[i].ACL)
	}
	return n + aclSize(rq.ACL)
}

func aclSize(acl []jute.ACL) (n int) {
	const fixed = 40
	for i := range acl {
		n += fixed + len(acl[i].Scheme) + len(acl[i].ID)
	}
	return n
}

// Journal is what was received, in the order in which it was served: the last [Config.Journal]
// requests, or fewer if they would take more than [Config.JournalBytes].
func (s *Server) Journal() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Request, 0, len(s.journal.kept)-s.journal.first)
	for _, rq := range s.journal.kept[s.journal.first:] {
		all = append(all, *rq)
	}
	return all
}

// ClearJournal forgets what was received so far. The numbering of requests goes on.
func (s *Server) ClearJournal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.journal.kept, s.journal.first, s.journal.bytes = nil, 0, 0
}
