package faults

import (
	"math/rand/v2"
	"slices"
	"time"
)

// Plan has the parameters of a schedule.
type Plan struct {
	Duration time.Duration
	Timeout  time.Duration // of the workers' sessions: faults last for parts and multiples of it
	Servers  int
	Workers  int
	Kinds    []Kind        // to draw from
	Every    time.Duration // from one fault to the next, on average
	Storm    time.Duration // how long there are faults
	Calm     time.Duration // and how long there are none after that
}

// Fault is one fault.
type Fault struct {
	At     time.Duration // since the beginning of its storm
	For    time.Duration // how long it lasts
	Kind   Kind
	Leader bool // it hits the server that leads then, rather than Server
	Server int
	Worker int // -1: all workers, on their links to Server
	Way    int // of OneWay: an ensemble.Direction
	Late   time.Duration
}

// Storm are the faults between two calms.
type Storm struct {
	Length time.Duration
	Faults []Fault
}

// Schedule draws the storms of a run.
func Schedule(seed uint64, p Plan) []Storm {
	r := rand.New(rand.NewPCG(seed, 0x6368616f73))
	var storms []Storm
	for left := p.Duration; left > 0; left -= p.Storm + p.Calm {
		length := max(min(p.Storm, left-p.Calm), min(p.Storm, left, 5*time.Second))
		storms = append(storms, Storm{Length: length, Faults: p.storm(r, length)})
	}
	return storms
}

func (p Plan) storm(r *rand.Rand, length time.Duration) []Fault {
	var faults []Fault
	if len(p.Kinds) == 0 {
		return nil
	}
	for at := p.pause(r); at < length; at += p.pause(r) {
		f := p.fault(r)
		f.At = at
		f.For = min(f.For, length-at)
		faults = append(faults, f)
	}
	return faults
}

// pause is exponential, so that faults come in bursts too.
func (p Plan) pause(r *rand.Rand) time.Duration {
	return time.Duration(r.ExpFloat64()*float64(p.Every)) + time.Millisecond
}

func (p Plan) fault(r *rand.Rand) Fault {
	f := Fault{Kind: p.kind(r), Server: r.IntN(p.Servers), Worker: r.IntN(p.Workers), Way: r.IntN(2), Leader: r.IntN(2) == 0}
	// Short ones, ones about as long as a session lasts, and ones in which it ends.
	spans := []float64{0.05, 0.2, 0.5, 0.8, 1.1, 1.6}
	f.For = time.Duration(spans[r.IntN(len(spans))] * (0.7 + 0.6*r.Float64()) * float64(p.Timeout))
	f.Late = time.Duration(r.ExpFloat64() * float64(p.Timeout) / 12)
	if r.IntN(6) == 0 {
		f.Worker = -1
	}
	if !f.Kind.lasts() {
		f.For = 0
	}
	if f.Kind == Lose { // long enough for some requests, too short for a lost session
		f.For = 50 * time.Millisecond
	}
	if f.Kind == Isolate && f.For < p.Timeout { // the others must have the time to end its sessions
		f.For += p.Timeout
	}
	if f.Kind == Sever { // long enough for clients to notice, too short for the follower to give its leader up
		f.For = p.Timeout/6 + time.Duration(r.Float64()*float64(p.Timeout))
		f.Leader = false
	}
	if !f.Kind.onServers() {
		f.Leader = false
	}
	return f
}

func (p Plan) kind(r *rand.Rand) Kind {
	sum := 0
	for _, w := range weights {
		if slices.Contains(p.Kinds, w.kind) {
			sum += w.weight
		}
	}
	n := r.IntN(sum)
	for _, w := range weights {
		if !slices.Contains(p.Kinds, w.kind) {
			continue
		}
		if n -= w.weight; n < 0 {
			return w.kind
		}
	}
	panic("unreachable")
}
