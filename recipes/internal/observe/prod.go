package observe

import (
	"context"
	"sync"

	"github.com/troupe-go/troupe/actors"
)

// Prod lets tests run code in observers.
type Prod struct {
	mu   sync.Mutex
	refs []actors.Ref[step]
}

type prodKey struct{}

// WithProd returns a context. The Prod reaches every observer that is started with it.
func WithProd(ctx context.Context) (context.Context, *Prod) {
	p := &Prod{}
	return context.WithValue(ctx, prodKey{}, p), p
}

// Do has the actor of each running observer call f, and returns the number of these observers.
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
