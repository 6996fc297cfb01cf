package ensemble

import (
	"sync"
	"time"
)

// peerPatience is how long a follower's connection waits for a leader that is not listening yet, as
// it would without a proxy, by trying again.
const peerPatience = time.Second

// peering is the network between the servers: one Proxy for each way and port.
type peering struct {
	mu       sync.Mutex
	ways     []way
	isolated map[int]int // how many calls of Isolate hold for a server
}

type way struct {
	from, to int
	proxy    *Proxy
}

func (p *peering) open(links []link) error {
	p.isolated = map[int]int{}
	for _, l := range links {
		proxy := &Proxy{target: l.target, patience: peerPatience}
		if l.announce != "" {
			proxy.patience, proxy.opening = 0, announcing(l.announce)
		}
		proxy, err := newProxy(l.listen, proxy)
		if err != nil {
			return err
		}
		p.ways = append(p.ways, way{l.from, l.to, proxy})
	}
	return nil
}

func (p *peering) close() {
	for _, w := range p.ways {
		w.proxy.Close()
	}
}

func (p *peering) isIsolated(i int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.isolated[i] > 0
}

func (p *peering) isolate(i int) (heal func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isolated[i]++
	p.applyLocked(i)
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.isolated[i]--
		p.applyLocked(i)
	})
}

// applyLocked opens or closes the ways from and to server i. A way is open if neither of its ends
// is isolated.
func (p *peering) applyLocked(i int) {
	for _, w := range p.ways {
		if w.from != i && w.to != i {
			continue
		}
		if p.isolated[w.from] > 0 || p.isolated[w.to] > 0 {
			w.proxy.Blackhole()
		} else {
			w.proxy.Heal()
		}
	}
}
