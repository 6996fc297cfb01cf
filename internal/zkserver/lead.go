package zkserver

// Which of several fronts says that it leads, to who asks with a four-letter word. The tree is led
// by none of them: it is the Server that numbers transactions and counts the time of sessions.

// inTouch is a front that its peers can reach.
func (f *Front) inTouch() bool { return !f.down && f.isolated == nil && f.frozen == nil }

// mode is what a front says that it is.
func (f *Front) mode() string {
	switch {
	case len(f.s.fronts) == 1:
		return "standalone"
	case f.leads():
		return "leader"
	}
	return "follower"
}

func (f *Front) leads() bool { return len(f.s.fronts) > 1 && f.term > 0 }

// synced is how many fronts follow this one, which leads.
func (f *Front) synced() (n int) {
	for _, other := range f.s.fronts {
		if other != f && other.inTouch() && f.inTouch() {
			n++
		}
	}
	return n
}
