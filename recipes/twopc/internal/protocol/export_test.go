package protocol

// Armed is how many wait for a watch.
func (c *Coordinator) Armed() int { return c.requests.waiting() }

// Armed is how many wait for a watch.
func (s *Site) Armed() int { return s.requests.waiting() }

func (r *requests) waiting() (n int) {
	for _, f := range r.followers {
		n += len(f.followed)
	}
	return n
}

func (r Root) Inbox(site string) string { return r.inbox(site) }

func (r Root) Presences() string { return r.below("alive") }

func (r Root) Coordinator(guid string) string { return r.coordinator(guid) }
