package zkconn

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

// Pipeline is a row of requests that are sent one behind the other, on one connection.
type Pipeline struct {
	rs     []*request
	frames jute.Writer
	sent   atomic.Int64 // how many are; -1: no more are
}

// Add adds a request whose path was checked, and returns its size, which the caller checks.
func (p *Pipeline) Add(ask jute.Request) (size int) {
	notNull(&ask)
	p.frames.Begin()
	ask.Encode(&p.frames)
	size = p.frames.End()
	p.rs = append(p.rs, &request{ask: ask, size: size})
	return size
}

// AddTold is Add of a read. told is called with the reply, and its error, in wire order with the
// events of watches.
func (p *Pipeline) AddTold(ask jute.Request, told func(reply *jute.Reply, err error)) {
	p.Add(ask)
	r := p.rs[len(p.rs)-1]
	r.told = func() { told(&r.reply, r.verdict(&r.ask, r.reply.Err)) }
}

// What is under way of the pipelines of a session, and what each request is of that at least.
const mostPiped, leastLoad = 256 * leastLoad, 4 << 10

func (r *request) load() int64 { return int64(min(max(4+r.size, leastLoad), mostPiped)) }

// Send sends the requests and waits for the replies. ErrNoReply: some were sent, and not all are
// answered; if the server hung up, then at one of at most cutOff bytes. After another error none
// was sent, and it may be called again. At most 256 requests and a mebibyte are under way, of all
// pipelines, or one that is larger. They are fewer where replies take long, so that the requests
// that trust depends on do not wait long behind them.
func (p *Pipeline) Send(c *Conn) (cutOff int, err error) {
	rs, frames := p.rs, p.frames.Bytes()
	w, err := c.admit(rs)
	if err != nil {
		return 0, err
	}
	answered, sent, under, most := 0, 0, int64(0), int64(16*leastLoad) // under way, and how much may be
	defer func() { c.core.piped.Release(under) }()
	for answered < len(rs) && !w.lost.Closed() {
		end, size, load := sent, 0, int64(0)
		for ; end < len(rs) && (end == answered || under+load+rs[end].load() <= most); end++ {
			rs[end].as = c.core.cfg.Auth
			size += 4 + rs[end].size
			load += rs[end].load()
		}
		if end > sent && (c.core.piped.TryAcquire(load) || sent == answered && c.core.piped.Acquire(w.taking, load) == nil) {
			under += load
			rs[sent].holds = func() bool { return p.sent.CompareAndSwap(int64(sent), int64(end)) }
			if err = w.put(rs[sent:end], frames[:size]); err != nil {
				rs = rs[:sent] // those behind are not sent
				continue
			}
			frames, sent = frames[size:], end
		} else if sent == answered {
			rs, err = rs[:sent], w.refusal()
			continue
		}
		next := (answered + sent) / 2 // half of the window goes in one write
		select {
		case <-rs[next].answered.C():
		case <-w.lost.C():
		}
		took := max(time.Since(rs[next].sentAt), 1) // for at least these, and at most twice as many
		most = leastLoad * int64(min(max(time.Duration(next-answered+1)*c.core.timeout()/16/took, 16), 256))
		for ; answered <= next; answered++ {
			c.core.piped.Release(rs[answered].load())
			under -= rs[answered].load()
		}
	}
	for _, r := range p.rs {
		if sent > 0 && !r.answered.Closed() {
			if err = ErrCutOff; r.cutOff {
				cutOff = max(cutOff, r.size)
			}
		}
	}
	return cutOff, err
}

// Results has nothing more sent, and returns what is known: ErrNotSent and ErrNoReply among it.
func (p *Pipeline) Results() []Result {
	results, sent := make([]Result, len(p.rs)), p.sent.Swap(-1)
	for i, r := range slices.Backward(p.rs) { // as more answers come, none is known before an earlier one
		if results[i].Err = ErrNotSent; int64(i) < sent {
			results[i].Err = ErrNoReply
		}
		if r.answered.Closed() {
			results[i] = Result{r.reply.Path, FromWire(&r.reply.Stat), r.reply.Data, r.reply.Names, r.verdict(&r.ask, r.reply.Err)}
		}
	}
	return results
}
