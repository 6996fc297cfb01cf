package protocol

import "github.com/troupe-go/troupe/machine"

// follower follows one znode in one epoch: it reads with a watch, and reads again whenever the
// watch fires. It has at most one read in flight, so no reply is older than the one before.
type follower struct {
	requests *requests
	epoch    uint64
	path     string
	seen     func(machine.Seen)
	once     bool // the first change is usually the last one that matters: the read after it sets no watch
	armed    bool // the last answered read has set a watch
	reading  bool
	again    bool // something has happened since the read in flight was requested
	over     bool
	refused  int // number of refused reads in a row
}

func (r *requests) follow(path string, seen func(machine.Seen)) *follower {
	f := &follower{requests: r, epoch: r.Epoch(), path: path, seen: seen}
	f.look()
	return f
}

// await is like follow for a znode that changes once. If the read does not settle the matter, call
// rearm.
func (r *requests) await(path string, seen func(machine.Seen)) *follower {
	f := &follower{requests: r, epoch: r.Epoch(), path: path, seen: seen, once: true}
	f.look()
	return f
}

// look reads now: the next state is not older than this call.
func (f *follower) look() {
	if f != nil {
		f.read(true)
	}
}

// retry reads again after a pause, because ZooKeeper has refused the read.
func (f *follower) retry() { f.requests.retry(f.refused, f.look) }

// rearm ensures that the next change is noticed.
func (f *follower) rearm() {
	if !f.armed {
		f.look()
	}
}

func (f *follower) fired() {
	f.armed = false
	f.read(!f.once)
}

func (f *follower) read(watch bool) {
	if f.over || f.epoch == 0 || f.epoch != f.requests.Epoch() {
		return
	}
	if f.reading {
		f.again = true
		return
	}
	f.reading, f.again = true, false
	seen := func(ev machine.Seen) {
		f.reading, f.armed = false, watch && ev.Exists
		if watch && !ev.Exists {
			f.requests.unwatch(f.path, f)
		}
		if ev.Code == machine.Refused {
			f.refused++
		} else {
			f.refused = 0
		}
		switch {
		case f.over:
		case f.again:
			f.look()
		default:
			f.seen(ev)
		}
	}
	if watch {
		f.requests.readWatch(f.path, watcher{f, f.fired}, seen)
	} else {
		f.requests.read(f.path, seen)
	}
}

// stop ends the follower. Later replies are ignored.
func (f *follower) stop() {
	if f != nil {
		f.over = true
		f.requests.unwatch(f.path, f)
	}
}
