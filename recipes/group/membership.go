package group

import (
	"context"
	"errors"
	"sync"

	"github.com/troupe-go/troupe/internal/enum"
	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/group/internal/member"
	"github.com/troupe-go/troupe/session"
)

// State is the state of a membership.
type State int

// The states of a membership.
const (
	Joining State = iota // not registered, or not known to be
	Waiting              // a znode with the name exists, and its owner has not responded: it is cut off, or it has died and its session has not expired yet
	Joined               // registered
	Stopped              // ended by Leave or Close, or with the session
	Failed               // ended by an error: see [Membership.Err]
)

// String is the state's name, in lower case.
func (s State) String() string {
	return enum.Name("State", s, "joining", "waiting", "joined", "stopped", "failed")
}

// Status is a membership's own place in the group.
type Status struct {
	State State
}

// seat identifies a member of this process. Only one Membership at a time may have it, since
// ZooKeeper can't distinguish two of the same session.
type seat struct {
	session    *session.Session
	path, name string
}

var taken sync.Map // of seat to its Membership

// Membership is the intent to be in a group. It lasts, in every epoch, until it is left. It is safe
// for concurrent use.
type Membership struct {
	group   *Group
	seat    seat
	host    *recipe.Host
	joined  notify.Latch
	status  *notify.Topic[Status]
	written *notify.Topic[uint64] // the number of the data in ZooKeeper

	mu     sync.Mutex
	number uint64 // of the data that are wanted
	data   []byte
}

// Join states the intent to be a member, and returns at once. It uses only m's Name and Data.
// Errors say what is wrong with the name; for a closed session the error is session.ErrClosed; if a
// Membership of the same session has the name, it is [ErrDuplicate].
func (g *Group) Join(m Member) (*Membership, error) {
	const op = "join"
	if err := checkName(m.Name); err != nil {
		return nil, recipe.Failed(g.session, op, g.path, err)
	}
	s := &Membership{
		group: g, status: notify.NewTopic[Status](), written: notify.NewTopic[uint64](),
		data: append([]byte(nil), m.Data...),
	}
	s.seat = seat{g.session, g.path, m.Name}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.life.Err(); err != nil {
		return nil, recipe.Failed(g.session, op, g.path, session.ErrClosed)
	}
	if _, taken := taken.LoadOrStore(s.seat, s); taken {
		return nil, recipe.Failed(g.session, op, g.path, ErrDuplicate)
	}
	s.status.Publish(Status{})
	cfg := member.Config{Path: g.path, ID: m.Name}
	s.mu.Lock() // until the host is set: see perform
	defer s.mu.Unlock()
	h, err := recipe.New(recipe.Config{
		Session: g.session, Kind: "member", Recipe: "group", Name: m.Name, State: Joining.String(), Path: g.path, ACL: g.acl,
		Machine: func() machine.Machine { return s.machine(cfg) }, Standing: s.intents, Perform: s.perform, Ended: s.ended,
	})
	if err != nil {
		taken.Delete(s.seat)
		return nil, recipe.Failed(g.session, op, g.path, err)
	}
	s.host = h
	g.joined[s] = struct{}{}
	h.Tell(member.Updated{}) // changes nothing, but has the session connect
	return s, nil
}

// machine creates a machine with the latest data.
func (m *Membership) machine(cfg member.Config) machine.Machine {
	m.mu.Lock()
	defer m.mu.Unlock()
	cfg.Data, cfg.Number = m.data, m.number
	return member.New(cfg)
}

// intents are the events for a new machine.
func (m *Membership) intents() []machine.Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	return []machine.Event{member.Updated{Number: m.number, Data: m.data}}
}

func (m *Membership) perform(e machine.Effect) {
	told, ok := e.(member.Standing)
	if !ok {
		return
	}
	now := Status{}
	switch told.State {
	case member.Present, member.Updating:
		now.State = Joined
		m.joined.Close()
		m.written.Publish(told.Written)
	case member.Barred:
		now.State = Waiting
	case member.Reading, member.Asking:
		return // the state stays until the read is answered
	case member.Over:
		return // reported by Ended
	}
	m.status.Publish(now)
	m.mu.Lock()
	h := m.host
	m.mu.Unlock()
	h.SetState(now.State.String())
}

// ended publishes how the membership ended, as its last status.
func (m *Membership) ended(err error) {
	taken.Delete(m.seat)
	m.group.mu.Lock()
	delete(m.group.joined, m)
	m.group.mu.Unlock()
	last := Status{State: Failed}
	if errors.Is(err, session.ErrClosed) {
		last.State = Stopped
	}
	m.status.Publish(last)
	m.status.Close()
	m.written.Close()
}

// Joined closes when the member is registered for the first time. It never closes if that never
// happens: select on Done as well.
func (m *Membership) Joined() <-chan struct{} { return m.joined.C() }

// ObserveStatus subscribes to the status of the membership: the current one first, then each
// change; the newest replaces one that was not received. The package closes the channel when ctx
// ends, or after it has delivered Stopped or Failed, which may come a moment before Done closes.
func (m *Membership) ObserveStatus(ctx context.Context) <-chan Status { return m.status.Subscribe(ctx) }

// Update replaces the member's data, for this and every later registration, and returns when they
// are in ZooKeeper. Before the first registration, and while there is none, they wait for it. ctx
// bounds the wait, not the update. Of several concurrent updates the last one wins. Other errors:
// how the membership ended.
func (m *Membership) Update(ctx context.Context, data []byte) error {
	const op = "update"
	m.mu.Lock()
	m.number++
	number := m.number
	m.data = append([]byte(nil), data...)
	m.host.Tell(member.Updated{Number: number, Data: m.data})
	m.mu.Unlock()
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	for n := range m.written.Subscribe(waiting) {
		if n >= number {
			return nil
		}
	}
	if err := context.Cause(ctx); err != nil {
		return recipe.Failed(m.group.session, op, m.group.path, err)
	}
	<-m.Done() // at once: the subscription has ended with the membership
	return recipe.Failed(m.group.session, op, m.group.path, m.Err())
}

// Leave ends the membership, and returns when ZooKeeper has confirmed that the member is gone. If
// ctx ends first its cause is returned, and the deletion goes on in the background until the epoch
// ends. It is idempotent.
func (m *Membership) Leave(ctx context.Context) error {
	return recipe.Failed(m.group.session, "leave", m.group.path, m.host.Close(ctx))
}

// Close is [Membership.Leave], under the name that every handle has.
func (m *Membership) Close(ctx context.Context) error { return m.Leave(ctx) }

// Done closes when the membership has ended: by Leave or Close, with the session, or by an error
// that registering again would not fix. Err then says why.
func (m *Membership) Done() <-chan struct{} { return m.host.Done() }

// Err is nil exactly while Done is open. Afterwards it is session.ErrClosed after Leave or Close,
// or with the session; [ErrDuplicate] if another member has the name; otherwise the error that
// ended the membership, for example session.ErrNoAuth.
func (m *Membership) Err() error { return m.host.Err() }
