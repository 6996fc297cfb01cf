package protocol

// Armed is how many wait for a watch.
func (c *Coordinator) Armed() int { return c.zk.waiting() }

// Armed is how many wait for a watch.
func (s *Site) Armed() int { return s.zk.waiting() }

func (d *dispatcher) waiting() (n int) {
	for _, f := range d.followers {
		n += len(f.subscriptions)
	}
	return n
}

func (r Root) Inbox(site string) string { return r.inbox(site) }

func (r Root) Presences() string { return r.below("alive") }

func (r Root) Coordinator(guid string) string { return r.coordinator(guid) }
