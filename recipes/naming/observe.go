package naming

import (
	"context"

	"github.com/troupe-go/troupe/internal/notify"
)

// Observe is a subscription to what a name means: the present binding first, unbound if it means nothing, and then each newer one, which replaces one that was
// not received. It goes on through expiry. It closes when ctx or the session ends; at once if the name is not valid.
func (n *Names) Observe(ctx context.Context, name string) <-chan Binding {
	out := notify.NewLatest[Binding]()
	path, err := n.path("observe", "name", name)
	if err != nil {
		out.Close()
		return out.C()
	}
	states := n.session.WatchData(ctx, path)
	go func() { // owned by the subscription: ends with ctx or the session
		defer out.Close()
		for d := range states {
			b := Binding{Name: name}
			if d.Exists {
				b = binding(name, d.Bytes, d.Stat)
			}
			b.Stale = d.Stale
			out.Publish(b)
		}
	}()
	return out.C()
}
