package observe

import (
	"context"
	"sync"

	"github.com/troupe-go/troupe/actors"
)

// Prod reaches into observations. For tests.
type Prod struct {
	mu   sync.Mutex
	refs []actors.Ref[step]
}

type prodKey struct{}

// WithProd returns a context: whatever is observed with it can be reached by the Prod.
func WithProd(ctx context.Context) (context.Context, *Prod) {
	p := &Prod{}
	return context.WithValue(ctx, prodKey{}, p), p
}

// Do has f called by the actor of each observation that was begun with the context and goes on; it
// returns how many these are.
func (p *Prod) Do(f func()) (reached int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, ref := range p.refs {
		if ref.Tell(step{do: f}) {
			reached++
		}
	}
	return reached
}

func register(ctx context.Context, ref actors.Ref[step]) {
	if p, ok := ctx.Value(prodKey{}).(*Prod); ok {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.refs = append(p.refs, ref)
	}
}
