package naming

import (
	"context"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/recipes/internal/observe"
	"github.com/troupe-go/troupe/session"
)

// Observe subscribes to a name: the current binding first, or that there is none, and then each
// newer one, which replaces one that was not received. It continues through expiry. The channel
// closes when ctx or the session ends; at once if the name is not valid.
func (n *Names) Observe(ctx context.Context, name string) <-chan Binding {
	out := notify.NewLatest[Binding]()
	path, err := n.path("observe", "name", name)
	if err != nil {
		out.Close()
		return out.C()
	}
	ctx, leave := n.life.Within(ctx)
	observe.Run(ctx, observe.Spec{Session: n.session, Kind: "binding", Path: path, Ended: func(error) { leave(); out.Close() }, Begin: func(t *observe.Turn) {
		observe.Each(t.Context(), t, n.session.WatchData(t.Context(), path), func(d session.Data, open bool) {
			if !open {
				t.End()
				return
			}
			b := Binding{Name: name}
			if d.Exists {
				b = binding(name, d.Bytes, d.Stat)
			}
			b.Stale = d.Stale
			out.Publish(b)
		})
	}})
	return out.C()
}
