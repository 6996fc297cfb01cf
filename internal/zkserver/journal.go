package zkserver

// journal keeps the last requests.
type journal struct {
	limit int
	ring  []*Request
	next  int // where the oldest is, once the ring is full
}

func (j *journal) add(rq *Request) {
	if j.limit == 0 || rq == nil {
		return
	}
	if len(j.ring) < j.limit {
		j.ring = append(j.ring, rq)
		return
	}
	j.ring[j.next] = rq
	j.next = (j.next + 1) % j.limit
}

// Journal is what was received, in the order in which it was served: the last [Config.Journal] requests.
func (s *Server) Journal() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Request, 0, len(s.journal.ring))
	for i := range s.journal.ring {
		all = append(all, *s.journal.ring[(s.journal.next+i)%len(s.journal.ring)])
	}
	return all
}

// ClearJournal forgets what was received so far. The numbering of requests goes on.
func (s *Server) ClearJournal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.journal.ring, s.journal.next = nil, 0
}
