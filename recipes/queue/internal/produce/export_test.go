package produce

// Panic has an item put, and panics when that is answered.
func (p *Producer) Panic(put Put) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := newCall(p, p.last, put)
	c.done = nil
	p.calls = append(p.calls, c)
}
