package zkserver

import "time"

// Where several servers share the tree, each notes which sessions it has heard of and tells the
// leader twice a tick, as followers do in their answers to the leader's pings. A front that is cut
// off from the leader, or stopped, keeps its notes to itself. When in the tick that is differs from
// front to front, and from server to server, since nothing ties the pings of real servers to
// anything that a client could know.
//
// A front that was stopped finds the leader's pings when it goes on, and answers them some time
// after the reads of its clients, but ahead of their writes and syncs: the leader's answers to
// those come behind its pings.

// note remembers that a session was heard of.
func (f *Front) note(ss *session, timeout time.Duration) {
	if f.touched == nil {
		f.touched = make(map[*session]time.Duration)
	}
	f.touched[ss] = timeout
	f.armPassing()
}

func (f *Front) armPassing() {
	if f.passing == nil && len(f.touched) > 0 {
		half := f.s.cfg.Tick / 2
		past := time.Since(f.s.started) + half - f.phase
		// Runs on the timer's own goroutine and ends at once; Close stops it, and after that it
		// does nothing.
		f.passing = time.AfterFunc((past/half+1)*half-past, f.passOn)
	}
}

func (f *Front) passOn() {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	f.passing = nil
	if f.s.closed || f.down {
		return
	}
	f.pinged = true
	if f.isolated == nil && f.frozen == nil {
		f.answerPings()
	}
}

// answerPings tells the leader which sessions the front has heard of, if the leader has asked.
func (f *Front) answerPings() {
	if !f.pinged {
		return
	}
	f.pinged = false
	for ss, timeout := range f.touched {
		f.s.touch(ss, time.Now(), timeout)
	}
	clear(f.touched)
}
