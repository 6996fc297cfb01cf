package pace

import "time"

// Speed says what a way costs. The zero value costs nothing.
type Speed struct {
	Latency        time.Duration // from one end to the other, each way
	BytesPerSecond int           // each way; 0: no limit
}

func (s Speed) instant() bool { return s.Latency <= 0 && s.BytesPerSecond <= 0 }

// Plus is the speed of two ways, one behind the other.
func (s Speed) Plus(o Speed) Speed {
	sum := Speed{Latency: s.Latency + o.Latency, BytesPerSecond: s.BytesPerSecond}
	if sum.BytesPerSecond <= 0 || o.BytesPerSecond > 0 && o.BytesPerSecond < sum.BytesPerSecond {
		sum.BytesPerSecond = o.BytesPerSecond
	}
	return sum
}

// carries is how long so many bytes take, rounded up.
func (s Speed) carries(bytes int) time.Duration {
	if s.BytesPerSecond <= 0 {
		return 0
	}
	perSecond := int64(s.BytesPerSecond)
	return time.Duration((int64(bytes)*int64(time.Second) + perSecond - 1) / perSecond)
}

// window is how many bytes can be under way in one direction before the sender has to wait.
const window = 1 << 20

// lane is what is under way in one direction, in the order of arrival. Its owner guards it.
type lane struct {
	parcels []parcel
	size    int
	free    time.Time     // when the line has taken the last byte
	last    time.Time     // when that byte arrives
	moving  bool          // a goroutine moves it
	err     error         // nothing comes behind what is under way
	changed chan struct{} // closed, and replaced, whenever something changes
}

// parcel is bytes that arrive one after the other.
type parcel struct {
	bytes []byte
	taken int       // bytes that have been taken
	from  time.Time // when the first begins to arrive
	speed Speed
}

// next is when the first byte that was not taken has arrived.
func (p *parcel) next() time.Time { return p.from.Add(p.speed.carries(p.taken + 1)) }

// arrived is how many bytes can be taken.
func (p *parcel) arrived(now time.Time) int {
	all, past := len(p.bytes), now.Sub(p.from)
	if p.speed.BytesPerSecond <= 0 || past >= p.speed.carries(all) {
		return all - p.taken
	}
	return int(past.Seconds()*float64(p.speed.BytesPerSecond)+1e-6) - p.taken
}

func newLane() lane { return lane{changed: make(chan struct{})} }

// put sends bytes on their way. They must not be altered any more.
func (l *lane) put(bytes []byte, now time.Time, s Speed) {
	start := latest(now, l.free)
	l.free = start.Add(s.carries(len(bytes)))
	from := latest(start.Add(max(s.Latency, 0)), l.last) // nothing overtakes
	l.last = from.Add(s.carries(len(bytes)))
	l.parcels = append(l.parcels, parcel{bytes: bytes, from: from, speed: s})
	l.size += len(bytes)
	l.change()
}

// take moves what has arrived into a buffer, or says when something will: zero if nothing is under
// way.
func (l *lane) take(into []byte, now time.Time) (n int, due time.Time) {
	if len(l.parcels) == 0 {
		return 0, time.Time{}
	}
	first := &l.parcels[0]
	if due = first.next(); due.After(now) {
		return 0, due
	}
	n = copy(into, first.bytes[first.taken:first.taken+max(1, first.arrived(now))])
	first.taken += n
	l.size -= n
	if first.taken == len(first.bytes) {
		l.parcels[0] = parcel{}
		l.parcels = l.parcels[1:]
	}
	l.change()
	return n, time.Time{}
}

func (l *lane) change() {
	close(l.changed)
	l.changed = make(chan struct{})
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
