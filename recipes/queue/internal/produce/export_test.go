package produce

// Panic has an item put, and the producer's goroutine panics when the call ends: its channel done
// is nil, and to close that panics. It starts no goroutine, so another call must be under way. It
// takes no number: later calls have those that they would have without it.
func (p *Producer) Panic(put Put) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := newCall(p, put)
	c.no, c.done = p.last, nil
	p.calls = append(p.calls, c)
}
