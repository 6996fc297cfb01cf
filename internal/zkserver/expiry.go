package zkserver

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver/tree"
)

// expiry is the clock of the sessions. As in the real server they end at ticks: a session that was
// heard of at t ends at the first tick after t + timeout. Ticks are counted from the server's
// start.
//
// To be heard of costs one store: the heap is put right only when its first entry comes due.
type expiry struct {
	heap  sessionHeap
	timer *time.Timer
	due   int64 // the tick that the timer waits for; 0: none
	halt  bool  // there is no leader: time stands still for the sessions
}

// tickAfter is the number of the first tick after t + timeout.
func (s *Server) tickAfter(t time.Time, timeout time.Duration) int64 {
	return int64((t.Sub(s.started)+timeout)/s.cfg.Tick) + 1
}

func (s *Server) tickTime(tick int64) time.Time {
	return s.started.Add(time.Duration(tick) * s.cfg.Tick)
}

// touch is called when the leader hears of a session.
func (s *Server) touch(ss *session, now time.Time, timeout time.Duration) {
	if s.sessions[ss.id] != ss { // it has ended meanwhile
		return
	}
	ss.deadline = s.tickAfter(now, timeout)
	if e := &s.expiry; ss.deadline < e.heap[ss.entry].tick { // it came back with a shorter timeout
		e.heap[ss.entry].tick = ss.deadline
		heap.Fix(&e.heap, ss.entry)
		e.arm(s)
	}
}

func (e *expiry) add(s *Server, ss *session) {
	ss.deadline = s.tickAfter(time.Now(), ss.timeout)
	heap.Push(&e.heap, heapEntry{ss, ss.deadline})
	e.arm(s)
}

func (e *expiry) remove(ss *session) {
	if ss.entry < len(e.heap) && e.heap[ss.entry].session == ss {
		heap.Remove(&e.heap, ss.entry)
	}
}

// arm sets the timer to the first entry.
func (e *expiry) arm(s *Server) {
	if len(e.heap) == 0 || e.halt || s.closed {
		return
	}
	first := e.heap[0].tick
	if e.due != 0 && e.due <= first {
		return
	}
	e.due = first
	wait := time.Until(s.tickTime(first))
	if e.timer == nil {
		e.timer = s.after(wait, s.expire)
		return
	}
	e.timer.Reset(wait)
}

func (e *expiry) stop() {
	e.halt, e.due = true, 0
	if e.timer != nil {
		e.timer.Stop()
	}
}

// resume starts the clock again: every session has its whole timeout from now on.
func (e *expiry) resume(s *Server) {
	e.halt = false
	for i := range e.heap {
		ss := e.heap[i].session
		ss.deadline = s.tickAfter(time.Now(), ss.timeout)
		e.heap[i].tick = ss.deadline
	}
	heap.Init(&e.heap)
	e.arm(s)
}

// expire ends the sessions whose tick has come, in the order of their ids.
func (s *Server) expire() {
	e := &s.expiry
	if e.halt {
		return
	}
	e.due = 0
	now := int64(time.Since(s.started) / s.cfg.Tick)
	var over []*session
	for len(e.heap) > 0 && e.heap[0].tick <= now {
		first := &e.heap[0]
		if first.session.deadline > now {
			first.tick = first.session.deadline
			heap.Fix(&e.heap, 0)
			continue
		}
		over = append(over, heap.Pop(&e.heap).(heapEntry).session)
	}
	slices.SortFunc(over, func(a, b *session) int { return cmp.Compare(a.id, b.id) })
	for _, ss := range over {
		s.expireNow(ss)
		s.fronts[0].traffic.writes++ // it is a request like others
	}
	e.arm(s)
}

type heapEntry struct {
	session *session
	tick    int64 // not after the session's deadline
}

type sessionHeap []heapEntry

func (h sessionHeap) Len() int           { return len(h) }
func (h sessionHeap) Less(i, j int) bool { return h[i].tick < h[j].tick }
func (h sessionHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].session.entry, h[j].session.entry = i, j
}

func (h *sessionHeap) Push(x any) {
	e := x.(heapEntry)
	e.session.entry = len(*h)
	*h = append(*h, e)
}

func (h *sessionHeap) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = heapEntry{}
	*h = (*h)[:last]
	return e
}

// armReaper sets the timer for the deletion of empty containers and expired TTL znodes, to a whole
// multiple of the interval since the server's start, if there are containers or TTL znodes at all.
func (s *Server) armReaper() {
	if s.closed || s.check != 0 || s.tree.NumReapable() == 0 {
		return
	}
	past := time.Since(s.started)
	s.check = int64(past/s.cfg.ContainerCheck) + 1
	s.reaper = s.after(time.Duration(s.check)*s.cfg.ContainerCheck-past, s.reap)
}

// reap tries each of them. One that can't be deleted uses up a zxid, like every failed write.
func (s *Server) reap() {
	if s.check == 0 || int64(time.Since(s.started)/s.cfg.ContainerCheck) < s.check {
		return // FastForward was quicker than this timer
	}
	s.check = 0
	for _, path := range s.tree.Reapable(s.now()) {
		change, code := s.tree.Prepare(tree.Caller{}, &jute.Request{Op: jute.OpDeleteContainer, Path: path})
		t := &txn{}
		if code == jute.OK {
			t.changes = []tree.Change{change}
		}
		s.commit(t, nil)
	}
	s.armReaper()
}

// FastForward makes the server older. What falls due on the way happens, in its order: sessions
// end, and containers and TTL znodes are deleted. A client that can reach the leader is taken to
// have pinged it all along.
func (a Admin) FastForward(d time.Duration) error {
	s := a.Server
	s.mu.Lock()
	defer s.mu.Unlock()
	const most = 100 * 365 * 24 * time.Hour // no sum of times overflows
	if s.closed {
		return ErrClosed
	} else if d < 0 || d > most-s.skipped {
		return fmt.Errorf("%v is negative, or makes the server older by more than %v", d, most)
	}
	for _, f := range s.fronts {
		if f.pinged = !f.down; !f.inTouch() {
			continue
		}
		f.answerPing()
		for _, c := range f.bySession {
			if c.arrivalGate() == nil {
				s.touch(c.session, time.Now().Add(d), c.timeout)
			}
		}
	}
	for end := s.skipped + d; ; {
		step := end - s.skipped
		if len(s.expiry.heap) > 0 && !s.expiry.halt {
			step = min(step, max(0, time.Until(s.tickTime(s.expiry.heap[0].tick))))
		}
		if s.check > 0 { // on to the first check that finds something: there may be millions that do not
			past, now := time.Since(s.started), s.now()
			until := func(n int) time.Duration { return time.Duration(s.check+int64(n))*s.cfg.ContainerCheck - past }
			n := sort.Search(int(int64((past+step)/s.cfg.ContainerCheck)-s.check)+1, func(n int) bool {
				return len(s.tree.Reapable(now+until(n).Milliseconds())) > 0
			})
			step, s.check = min(step, max(0, until(n))), s.check+int64(n)
		}
		s.started, s.skipped = s.started.Add(-step), s.skipped+step
		s.expire()
		s.reap()
		if s.skipped == end {
			s.check = 0
			s.armReaper() // sooner than it was, as expire does for sessions
			return nil
		}
	}
}

// Where several servers share the tree, each keeps in Front.touched which sessions it has heard of,
// and tells the leader twice a tick, in its answer to the leader's ping, as real followers do. When
// in the tick that is differs from front to front, and from server to server, since nothing ties
// the pings of real servers to anything that a client could know.
//
// A front that is cut off from the leader, or stopped, can't answer; the ping waits for it
// (pinged). It is answered some time after the reads of its clients, with the next ping, but ahead
// of their writes and syncs (dispatch): the leader's answers to those come behind its pings.

// heardFrom remembers that a session was heard of.
func (f *Front) heardFrom(ss *session, timeout time.Duration) {
	if f.touched == nil {
		f.touched = make(map[*session]time.Duration)
	}
	f.touched[ss] = timeout
	f.armPing()
}

// armPing sets the timer to the leader's next ping, if there is something to tell it.
func (f *Front) armPing() {
	if f.nextPing == nil && len(f.touched) > 0 {
		half := f.s.cfg.Tick / 2
		past := time.Since(f.s.started) + half - f.phase // since a ping before the start, so that it is positive
		f.nextPing = f.s.after((past/half+1)*half-past, f.leaderPings)
	}
}

// leaderPings is the arrival of a ping, which is answered if the front can.
func (f *Front) leaderPings() {
	f.nextPing = nil
	if f.down {
		return
	}
	f.pinged = true
	if f.inTouch() {
		f.answerPing()
	}
}

// answerPing tells the leader which sessions the front has heard of, if a ping waits for that.
func (f *Front) answerPing() {
	if !f.pinged {
		return
	}
	f.pinged = false
	for ss, timeout := range f.touched {
		f.s.touch(ss, time.Now(), timeout)
	}
	clear(f.touched)
}
