package ensemble

import (
	"encoding/binary"
	"io"
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
	isolated map[int]int    // how many calls of Isolate hold for a server
	severed  map[[2]int]int // and of Sever for a link, the smaller number first
}

type way struct {
	from, to int
	proxy    *Proxy
}

func (p *peering) open(links []link) error {
	p.isolated, p.severed = map[int]int{}, map[[2]int]int{}
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

// isSevered reports whether server i lacks a link.
func (p *peering) isSevered(i int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l, n := range p.severed {
		if n > 0 && (l[0] == i || l[1] == i) {
			return true
		}
	}
	return false
}

func (p *peering) isolate(i int) (heal func()) {
	return p.change(func(by int) { p.isolated[i] += by })
}

func (p *peering) sever(i, j int) (heal func()) {
	return p.change(func(by int) { p.severed[[2]int{min(i, j), max(i, j)}] += by })
}

// change counts a fault that begins, and heals it when heal is called.
func (p *peering) change(count func(by int)) (heal func()) {
	set := func(by int) {
		p.mu.Lock()
		defer p.mu.Unlock()
		count(by)
		p.applyLocked()
	}
	set(1)
	return sync.OnceFunc(func() { set(-1) })
}

// applyLocked opens or closes the ways. A way is open if neither of its ends is isolated, and the
// link between them is not severed.
func (p *peering) applyLocked() {
	for _, w := range p.ways {
		if p.isolated[w.from] > 0 || p.isolated[w.to] > 0 || p.severed[[2]int{min(w.from, w.to), max(w.from, w.to)}] > 0 {
			w.proxy.Blackhole()
		} else {
			w.proxy.Heal()
		}
	}
}

// Servers elect over connections of their own, and of any two, only the one with the larger number
// may keep a connection that it opened: called by a smaller one, it hangs up and calls back, at the
// address that the caller announced first. That is the caller's real address, past all proxies. So
// the proxy on the way announces another: the one at which the proxy of the way back listens.

const (
	announceOne  = -65536 // what the message begins with: it names one address
	announceMany = -65535 // … or several, separated by |
	announceMax  = 2048   // longer ones are refused by ZooKeeper
)

// announcing reads the message that opens an election connection, and gives it another address.
func announcing(addr string) func(io.Reader) ([]byte, error) {
	return func(r io.Reader) ([]byte, error) {
		head := make([]byte, 8, 64)
		if _, err := io.ReadFull(r, head); err != nil {
			return nil, err
		}
		if v := int64(binary.BigEndian.Uint64(head)); v != announceOne && v != announceMany {
			return head, nil // an old server's form, which announces nothing
		}
		rest := make([]byte, 8+4) // the caller's number, the length of its address
		if _, err := io.ReadFull(r, rest); err != nil {
			return nil, err
		}
		length := binary.BigEndian.Uint32(rest[8:])
		if length > announceMax {
			return append(head, rest...), nil // nonsense: for the receiver to refuse
		}
		if _, err := io.ReadFull(r, make([]byte, length)); err != nil {
			return nil, err
		}
		head = append(head, rest[:8]...)
		head = binary.BigEndian.AppendUint32(head, uint32(len(addr)))
		return append(head, addr...), nil
	}
}
