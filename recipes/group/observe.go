package group

import (
	"context"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
)

// Observe is a subscription to the view: the present one first, then each change of members and of their data, replacing one that was not received. It goes on
// through expiry and through the group's end and return. It closes when ctx or the session ends.
func (g *Group) Observe(ctx context.Context) <-chan View {
	out := notify.NewLatest[View]()
	o := &observer{group: g, out: out, members: make(map[string]*watched), news: make(chan news)}
	go o.run(ctx) // owned by ctx and the session, ends with the first of them
	return out.C()
}

// observer puts a view together of the group's children and of the data of each.
type observer struct {
	group   *Group
	out     *notify.Latest[View]
	members map[string]*watched
	listed  bool // the children are known
	stale   bool
	news    chan news // unbuffered: of those who watch the members' data
	last    View
	told    bool
}

// watched is a child whose data are watched.
type watched struct {
	cancel context.CancelFunc
	known  bool
	data   session.Data
}

type news struct {
	name string
	of   *watched
	data session.Data
}

func (o *observer) run(ctx context.Context) {
	defer o.out.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends those who watch members
	children := o.group.session.WatchChildren(ctx, o.group.path)
	for {
		select {
		case c, open := <-children:
			if !open {
				return
			}
			o.onChildren(ctx, c)
		case n := <-o.news:
			if o.members[n.name] == n.of {
				n.of.known, n.of.data = true, n.data
			}
		}
		o.publish()
	}
}

func (o *observer) onChildren(ctx context.Context, c session.Children) {
	o.stale = c.Stale
	o.listed = true
	there := make(map[string]bool, len(c.Names))
	for _, name := range c.Names {
		there[name] = true
		if o.members[name] == nil {
			o.members[name] = o.watch(ctx, name)
		}
	}
	for name, w := range o.members {
		if !there[name] {
			w.cancel()
			delete(o.members, name)
		}
	}
}

func (o *observer) watch(ctx context.Context, name string) *watched {
	inner, cancel := context.WithCancel(ctx)
	w := &watched{cancel: cancel}
	data := o.group.session.WatchData(inner, znode.Join(o.group.path, name))
	go func() { // owned by the observer, ends with the member or with it
		defer cancel()
		for d := range data {
			select {
			case o.news <- news{name, w, d}:
			case <-inner.Done():
				return
			}
		}
	}()
	return w
}

// publish tells the view, if it is whole and another.
func (o *observer) publish() {
	v := View{Stale: o.stale}
	for name, w := range o.members {
		if !w.known {
			return // its data are on their way
		}
		v.Stale = v.Stale || w.data.Stale
		if w.data.Exists && w.data.Stat.EphemeralOwner != 0 {
			v.Members = append(v.Members, memberOf(name, w.data.Bytes, w.data.Stat))
		}
	}
	v.sort()
	c := Diff(o.last, v)
	same := o.told && v.Stale == o.last.Stale && len(c.Joined)+len(c.Left)+len(c.Updated) == 0
	if !o.listed || same {
		return
	}
	o.last, o.told = v, true
	o.out.Publish(v)
}
