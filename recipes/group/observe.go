package group

import (
	"context"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipes/internal/contenders"
	"github.com/troupe-go/troupe/recipes/internal/observe"
	"github.com/troupe-go/troupe/session"
)

// Observe subscribes to the view: the current one first, then each change of the members and of
// their data, replacing one that was not received. It continues through expiry, and through
// deletion and re-creation of the group. The first view has all members; a later member appears
// once its data are known, and does not delay views until then. A member whose data this session
// may not read appears without them (Unread), and is read again after pauses of up to some seconds.
// The package closes the channel when ctx, this handle or the session ends.
func (g *Group) Observe(ctx context.Context) <-chan View {
	out := notify.NewLatest[View]()
	o := &published{out: out}
	ctx, leave := g.life.Within(ctx)
	observe.Run(ctx, observe.Spec{
		Session: g.session, Kind: "group view", Path: g.path, Ended: func(error) { leave(); out.Close() },
		Begin: func(t *observe.Turn) {
			v := &observer{group: g, turn: t, published: o, members: make(map[string]*watched)}
			observe.Each(t.Context(), t, g.session.WatchChildren(t.Context(), g.path), v.onChildren)
		},
	})
	return out.C()
}

// published is what a subscription has delivered, over all incarnations of its actor.
type published struct {
	out  *notify.Latest[View]
	last View
	told bool
}

// observer builds a view from the group's children and the data of each.
type observer struct {
	*published
	group   *Group
	turn    *observe.Turn
	members map[string]*watched
	listing int // how often the children were listed
	stale   bool
}

// watched is a child whose data are watched.
type watched struct {
	cancel  context.CancelFunc
	listing int // in which the child was found
	known   bool
	gone    bool
	data    contenders.Observation
}

func (o *observer) onChildren(c session.Children, open bool) {
	if !open {
		o.turn.End()
		return
	}
	o.stale = c.Stale
	o.listing++
	there := make(map[string]bool, len(c.Names))
	for _, name := range c.Names {
		there[name] = true
		if w := o.members[name]; w == nil || w.gone {
			o.watch(name)
		}
	}
	for name, w := range o.members {
		if !there[name] {
			w.cancel()
			delete(o.members, name)
		}
	}
	o.publish()
}

// watch follows a member until it is gone, but not its return, which the listing reports.
func (o *observer) watch(name string) {
	ctx, cancel := context.WithCancel(o.turn.Context())
	w := &watched{cancel: cancel, listing: o.listing}
	o.members[name] = w
	observe.Each(ctx, o.turn, contenders.Follow(ctx, o.group.session, znode.Join(o.group.path, name)), func(d contenders.Observation, open bool) {
		if !open {
			o.onGone(name, w)
			return
		}
		w.known, w.data = true, d
		o.publish()
	})
}

// onGone handles the end of a member. A listing will follow, or has already reported another member
// of the same name.
func (o *observer) onGone(name string, w *watched) {
	w.cancel()
	w.gone = true
	if w.listing < o.listing {
		o.watch(name)
	}
}

// publish publishes the view if it has changed; the first one only if it is complete.
func (o *observer) publish() {
	v := View{Stale: o.stale}
	for name, w := range o.members {
		switch {
		case w.known:
		case w.listing == 1: // its data are still being read, and the first view has all members
			return
		default:
			continue
		}
		v.Stale = v.Stale || w.data.Stale
		if w.data.Unread {
			v.Members = append(v.Members, Member{Name: name, Unread: true})
		}
		if w.data.Exists && w.data.Stat.EphemeralOwner != 0 {
			v.Members = append(v.Members, memberOf(name, w.data.Bytes, w.data.Stat))
		}
	}
	v.sort()
	c := Diff(o.last, v)
	same := o.told && v.Stale == o.last.Stale && len(c.Joined)+len(c.Left)+len(c.Updated) == 0
	if o.listing == 0 || same {
		return
	}
	o.last, o.told = v, true
	o.out.Publish(v)
}
