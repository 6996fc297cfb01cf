// What the recipes tell the functions of session.WithEvents, as whole stories, and what a snapshot
// shows of each. The session's own events are tested in package session.
package events_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/group"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
)

func TestMain(m *testing.M) { tier.Main(m) }

const path = "/orders"

// world has a session whose events are written down, and another one.
type world struct {
	*bubble.World
	*session.Session
	other *session.Session

	mu    sync.Mutex
	lines []string
	all   []session.Event
}

// told are the lines since the last call, when everything has settled.
func (w *world) told() []string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	lines := w.lines
	w.lines = nil
	return lines
}

// write writes an event of a recipe down as a line: its kind and name, the states, what it took in
// whole seconds, the attempt, and whether there is an error.
func (w *world) write(_ *session.Session, ev session.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, ev)
	if ev.Recipe == "" {
		return
	}
	line := strings.TrimSpace(fmt.Sprint(ev.Recipe, " ", ev.Kind, " ", ev.Name))
	if ev.Kind == session.EventState {
		line += fmt.Sprintf(" %s→%s", ev.From, ev.To)
	} else if ev.To != "" {
		line += " " + ev.To
	}
	if took := ev.Took.Truncate(time.Second); took > 0 && ev.Kind != session.EventState {
		line += " " + took.String()
	}
	if ev.Attempt > 0 {
		line += fmt.Sprint(" #", ev.Attempt)
	}
	if ev.Err != nil {
		line += " !"
	}
	w.lines = append(w.lines, line)
}

// must returns v. An error while a test is arranged is a panic.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func (w *world) minute() context.Context { return bubble.Minute(w) }

// held has the other session hold the lock, for a time.
func (w *world) held(d time.Duration) {
	g := must(must(lock.New(w.other, path)).Lock(w.minute()))
	time.AfterFunc(d, func() { _ = g.Release(context.Background()) })
}

var stories = map[string]struct {
	play func(w *world)
	want []string
}{
	"a lock, waited for and released": {func(w *world) {
		w.held(5 * time.Second)
		g := must(must(lock.New(w.Session, path)).Lock(w.minute()))
		time.Sleep(3 * time.Second)
		require.NoError(w, g.Release(w.minute()))
	}, []string{"lock wanted", "lock state idle→waiting", "lock queued", "lock state waiting→holding", "lock granted 5s", "lock released 3s", "lock state holding→idle"}},
	"a lock, deleted by another client and won again": {func(w *world) {
		l := must(lock.New(w.Session, path))
		l.Acquire()
		g := bubble.Get(w, l.Acquired())
		time.Sleep(3 * time.Second)
		require.NoError(w, w.other.Delete(w.minute(), g.Path(), -1))
		<-g.Done()
		_ = bubble.Get(w, l.Acquired())
		require.NoError(w, l.Close(w.minute()))
	}, []string{
		"lock wanted", "lock state idle→waiting", "lock queued", "lock state waiting→holding", "lock granted",
		"lock state holding→waiting", "lock lost 3s !", "lock wanted", "lock queued", "lock state waiting→holding", "lock granted",
		"lock released", "lock state holding→idle", "lock state idle→stopped",
	}},
	"a lock for writing, downgraded": {func(w *world) {
		g := must(must(lock.NewWrite(w.Session, path)).Lock(w.minute()))
		time.Sleep(3 * time.Second)
		g = must(g.Downgrade(w.minute()))
		time.Sleep(2 * time.Second)
		require.NoError(w, g.Release(w.minute()))
	}, []string{
		"lock wanted", "lock state idle→waiting", "lock queued", "lock state waiting→holding", "lock granted", "lock released 3s", "lock granted", "lock released 2s", "lock state holding→idle",
	}},
	"a lock that another asks for": {func(w *world) {
		g := must(must(lock.New(w.Session, path)).Lock(w.minute()))
		require.NoError(w, must(lock.New(w.other, path)).Revoke(w.minute(), lock.Contender{Path: g.Path(), Token: g.Token()}))
		<-g.Revoked()
		require.NoError(w, g.Release(w.minute()))
	}, []string{
		"lock wanted", "lock state idle→waiting", "lock queued", "lock state waiting→holding", "lock granted", "lock revoke asked", "lock released", "lock state holding→idle",
	}},
	"a lock that is waited for in vain": {func(w *world) {
		w.held(time.Hour)
		l := must(lock.New(w.Session, path))
		ctx, cancel := context.WithTimeout(w.Context(), 5*time.Second)
		defer cancel()
		_, err := l.Lock(ctx)
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.NoError(w, l.Close(w.minute()))
	}, []string{"lock wanted", "lock state idle→waiting", "lock queued", "lock withdrawn 5s !", "lock state waiting→idle", "lock state idle→stopped"}},
	"a lock that is refused": {func(w *world) {
		w.held(time.Hour)
		_, err := must(lock.New(w.Session, path)).TryLock(w.minute())
		require.ErrorIs(w, err, lock.ErrHeld)
		synctest.Wait()
		require.ErrorIs(w, w.all[len(w.all)-1].Err, lock.ErrHeld)
	}, []string{"lock wanted", "lock state idle→waiting", "lock queued", "lock state waiting→idle", "lock withdrawn !"}},
	"a lock that is not wanted any more": {func(w *world) {
		w.held(time.Hour)
		l := must(lock.New(w.Session, path))
		for range 2 {
			l.Acquire()
			time.Sleep(3 * time.Second)
			require.NoError(w, l.Withdraw(w.minute()))
		}
	}, []string{
		"lock wanted", "lock state idle→waiting", "lock queued", "lock withdrawn 3s", "lock state waiting→idle",
		"lock wanted", "lock state idle→waiting", "lock queued", "lock withdrawn 3s", "lock state waiting→idle",
	}},
	"a lock that was lost, and is not wanted any more": {func(w *world) {
		l := must(lock.New(w.Session, path))
		l.Acquire()
		g := bubble.Get(w, l.Acquired())
		other := bubble.Begin(func() error { _, err := must(lock.New(w.other, path)).Lock(w.minute()); return err })
		time.Sleep(3 * time.Second)
		require.NoError(w, w.other.Delete(w.minute(), g.Path(), -1))
		require.NoError(w, <-other)
		time.Sleep(2 * time.Second)
		require.NoError(w, l.Withdraw(w.minute()))
	}, []string{
		"lock wanted", "lock state idle→waiting", "lock queued", "lock state waiting→holding", "lock granted",
		"lock state holding→waiting", "lock lost 3s !", "lock wanted", "lock queued", "lock withdrawn 2s", "lock state waiting→idle",
	}},
	"a permit, waited for until Close": {func(w *world) {
		must(must(lock.NewSemaphore(w.other, path, 1)).Lock(w.minute()))
		s := must(lock.NewSemaphore(w.Session, path, 1))
		ended := bubble.Begin(func() error { _, err := s.Lock(w.minute()); return err })
		time.Sleep(3 * time.Second)
		require.NoError(w, s.Close(w.minute()))
		require.ErrorIs(w, <-ended, session.ErrClosed)
	}, []string{"lock wanted", "lock state idle→waiting", "lock queued", "lock withdrawn 3s !", "lock state waiting→idle", "lock state idle→stopped"}},
	"a term, waited for until the session is closed": {func(w *world) {
		must(must(election.New(w.other, path)).Lead(w.minute()))
		must(election.New(w.Session, path, election.WithName("a"))).Campaign()
		time.Sleep(3 * time.Second)
		require.NoError(w, w.Close(w.minute()))
	}, []string{
		"election wanted a", "election state a idle→offering", "election queued a", "election state a offering→determining", "election state a determining→waiting",
		"election state a waiting→stopped", "election withdrawn a 3s !",
	}},
	"a lock that may not be taken": {func(w *world) {
		l := must(lock.New(w.Session, path, lock.WithACL(session.ACL{Perms: session.PermAll, Scheme: "none", ID: "none"})))
		l.Acquire()
		<-l.Done()
	}, []string{"lock wanted", "lock state idle→waiting", "lock state waiting→idle", "lock withdrawn !", "lock state idle→failed"}},
	"a term": {func(w *world) {
		t := must(must(election.New(w.Session, path, election.WithName("a"))).Lead(w.minute()))
		time.Sleep(2 * time.Second)
		require.NoError(w, t.Ready(w.minute()))
		require.NoError(w, t.Ready(w.minute()))
		time.Sleep(2 * time.Second)
		require.NoError(w, t.Resign(w.minute()))
	}, []string{
		"election wanted a", "election state a idle→offering", "election queued a", "election state a offering→determining", "election state a determining→leading", "election granted a",
		"election ready a 2s", "election released a 4s", "election state a leading→idle",
	}},
	"a term, waited for": {func(w *world) {
		first := must(must(election.New(w.other, path)).Lead(w.minute()))
		time.AfterFunc(5*time.Second, func() { _ = first.Resign(context.Background()) })
		t := must(must(election.New(w.Session, path, election.WithName("a"))).Lead(w.minute()))
		require.NoError(w, t.Resign(w.minute()))
	}, []string{
		"election wanted a", "election state a idle→offering", "election queued a", "election state a offering→determining", "election state a determining→waiting",
		"election state a waiting→leading", "election granted a 5s", "election released a", "election state a leading→idle",
	}},
	"an item, returned and then acknowledged": {func(w *world) {
		q := must(queue.New(w.Session, path))
		must(q.Put(w.minute(), nil, queue.WithID("x")))
		require.NoError(w, must(q.Take(w.minute())).Nack(w.minute(), queue.WithPause(0)))
		i := must(q.Take(w.minute()))
		time.Sleep(2 * time.Second)
		require.NoError(w, i.Ack(w.minute()))
	}, []string{
		"queue item put x #1", "queue item claimed x #1", "queue item settled x returned #1", "queue item claimed x #2", "queue item settled x acknowledged 2s #2",
	}},
	"an item that becomes a dead letter": {func(w *world) {
		q := must(queue.New(w.Session, path, queue.WithMaxAttempts(1)))
		must(q.Put(w.minute(), nil, queue.WithID("x")))
		require.NoError(w, must(q.Take(w.minute())).Nack(w.minute(), queue.WithError(errors.New("bad"))))
	}, []string{"queue item put x #1", "queue item claimed x #1", "queue item dead x #1 !", "queue item settled x returned #1"}},
	"an item that is lost": {func(w *world) {
		q := must(queue.New(w.Session, path))
		must(q.PutAll(w.minute(), [][]byte{nil}, queue.WithID("x")))
		i := must(q.Take(w.minute()))
		w.Server.Expire(w.Status().SessionID)
		<-i.Done()
		time.Sleep(time.Second)
		require.NoError(w, q.Close(w.minute()))
	}, []string{"queue item put x #1", "queue item claimed x #1", "queue item settled x lost #1 !", "queue state consuming→stopped"}},
	"an item, taken for good": {func(w *world) {
		q := must(queue.New(w.Session, path))
		must(q.Put(w.minute(), nil, queue.WithID("x")))
		c := must(q.Consume(queue.WithAutoAck()))
		_ = bubble.Get(w, c.Items())
		require.NoError(w, c.Close(w.minute()))
	}, []string{"queue item put x #1", "queue item claimed x #1", "queue item settled x acknowledged #1", "queue state consuming→stopped"}},
	"a queue, paused for a while": {func(w *world) {
		q := must(queue.New(w.Session, path))
		c, other := must(q.Consume()), must(queue.New(w.other, path))
		time.Sleep(time.Second)
		for _, change := range []func(context.Context) error{other.Pause, other.Pause, other.Resume} {
			require.NoError(w, change(w.minute()))
			time.Sleep(time.Second)
		}
		require.NoError(w, c.Close(w.minute()))
	}, []string{"queue state consuming→paused", "queue state paused→consuming", "queue state consuming→stopped"}},
	"a site that may not be registered": {func(w *world) {
		site := must(twopc.NewSite(w.Session, path, "a", twopc.WithACL(session.ACL{Perms: session.PermAll, Scheme: "none", ID: "none"})))
		bubble.Closes(w, site.Done())
	}, []string{"twopc state a idle→not registered", "twopc state a not registered→failed"}},
	"a transaction": {func(w *world) {
		site, last := must(twopc.NewSite(w.Session, path, "a")), must(twopc.NewSite(w.other, path, "b"))
		tx := must(must(twopc.NewCoordinator(w.other, path)).Begin(w.minute(), "x", nil, "a", "b"))
		require.NoError(w, bubble.Get(w, site.Proposals()).VoteCommit(w.minute()))
		require.NoError(w, bubble.Get(w, last.Proposals()).VoteCommit(w.minute())) // which decides
		<-tx.Decided()
		time.Sleep(time.Second)
		require.NoError(w, site.Close(w.minute()))
	}, []string{
		"twopc state a idle→not registered", "twopc state a not registered→registered", "twopc voted x committed", "twopc decided x committed",
		"twopc state a registered→closing", "twopc state a closing→stopped",
	}},
	"a transaction that is aborted": {func(w *world) {
		c := must(twopc.NewCoordinator(w.Session, path))
		tx := must(c.Begin(w.minute(), "x", nil, "a"))
		require.NoError(w, tx.Abort(w.minute(), "no more"))
	}, []string{"twopc state idle→not registered", "twopc state not registered→registered", "twopc decided x aborted !"}},
	"a membership": {func(w *world) {
		h := w.Host("another", session.WithNamespace("/some/where"))
		<-must(must(group.New(h.Session, path)).Join(group.Member{Name: "a"})).Joined()
		h.Machine.Partition()
		m := must(must(group.New(w.Session, path)).Join(group.Member{Name: "a"}))
		<-m.Joined()
		require.NoError(w, m.Leave(w.minute()))
	}, []string{
		"group state a joining→waiting", "group state a waiting→joining", "group state a joining→joined", "group state a joined→joining", "group state a joining→stopped",
	}},
	"a passage": {func(w *world) {
		a, b := must(barrier.NewDouble(w.Session, path, 2, barrier.WithName("a"))), must(barrier.NewDouble(w.other, path, 2))
		time.AfterFunc(3*time.Second, b.Arrive)
		p := must(a.Enter(w.minute()))
		time.Sleep(2 * time.Second)
		p.Depart()
		time.Sleep(2 * time.Second)
		bubble.Get(w, b.Entered()).Depart()
		<-p.Left()
		require.NoError(w, a.Close(w.minute()))
	}, []string{
		"barrier wanted a", "barrier state a idle→waiting", "barrier granted a 3s", "barrier state a waiting→inside",
		"barrier released a 2s", "barrier state a inside→leaving", "barrier state a leaving→idle", "barrier state a idle→stopped",
	}},
	"a passage that is waited for in vain": {func(w *world) {
		a := must(barrier.NewDouble(w.Session, path, 2, barrier.WithName("a")))
		ctx, cancel := context.WithTimeout(w.Context(), 3*time.Second)
		defer cancel()
		_, err := a.Enter(ctx)
		require.ErrorIs(w, err, context.DeadlineExceeded)
		time.AfterFunc(2*time.Second, func() { _ = must(barrier.NewDouble(w.other, path, 2)).Break(w.Context()) })
		_, err = a.Enter(w.minute())
		require.ErrorIs(w, err, barrier.ErrBroken)
		a.Arrive()
		time.Sleep(4 * time.Second)
		require.NoError(w, a.Close(w.minute()))
	}, []string{
		"barrier wanted a", "barrier state a idle→waiting", "barrier withdrawn a 3s !", "barrier state a waiting→idle",
		"barrier wanted a", "barrier state a idle→waiting", "barrier withdrawn a 2s !", "barrier state a waiting→idle",
		"barrier wanted a", "barrier state a idle→waiting", "barrier withdrawn a 4s !", "barrier state a waiting→stopped",
	}},
	"a passage that is given up by Close": {func(w *world) {
		a := must(barrier.NewDouble(w.Session, path, 1, barrier.WithName("a")))
		must(a.Enter(w.minute()))
		require.NoError(w, a.Close(w.minute()))
	}, []string{
		"barrier wanted a", "barrier state a idle→waiting", "barrier granted a", "barrier state a waiting→inside",
		"barrier released a", "barrier state a inside→leaving", "barrier state a leaving→idle", "barrier state a idle→stopped",
	}},
	"a passage that is lost": {func(w *world) {
		a := must(barrier.NewDouble(w.Session, path, 1, barrier.WithName("a")))
		p := must(a.Enter(w.minute()))
		w.Server.Expire(w.Status().SessionID)
		<-p.Done()
		time.Sleep(5 * time.Second)
	}, []string{
		"barrier wanted a", "barrier state a idle→waiting", "barrier granted a", "barrier state a waiting→inside",
		"barrier lost a !", "barrier state a inside→leaving", "barrier state a leaving→idle",
	}},
}

// Each change is told, in order. Every event of a possession has its token, its epoch and its
// session, and every event of a recipe its absolute path.
func TestStories(t *testing.T) {
	t.Parallel()
	for name, story := range stories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(b *bubble.World) {
				w := &world{World: b, other: b.Session(session.WithNamespace("/some/where"))}
				w.Session = b.Session(session.WithNamespace("/some/where"), session.WithEvents(w.write))
				story.play(w)
				require.Equal(w, story.want, w.told())
				require.NoError(w, w.Close(w.minute()))
				w.told()
				w.consistent()
				require.Equal(w, session.EventClosed, w.all[len(w.all)-1].Kind)
			}, bubble.Brisk()...)
		})
	}
}

// consistent checks what holds for each event.
func (w *world) consistent() {
	w.mu.Lock()
	defer w.mu.Unlock()
	granted, waits := map[int64]session.Event{}, false // by token
	for _, ev := range w.all {
		require.Zero(w, ev.Dropped)
		require.False(w, ev.Time.IsZero())
		if ev.Recipe != "" {
			require.Equal(w, "/some/where"+path, ev.Path)
		}
		switch ev.Kind {
		case session.EventWanted:
			require.False(w, waits)
			waits = true
		case session.EventWithdrawn:
			require.True(w, waits)
			waits = false
		case session.EventGranted, session.EventItemClaimed:
			_, downgraded := granted[ev.Token]
			require.True(w, waits || downgraded || ev.Kind == session.EventItemClaimed)
			waits = false
			require.NotZero(w, ev.Token)
			granted[ev.Token] = ev
		case session.EventReleased, session.EventLost, session.EventRevokeAsked, session.EventReady, session.EventItemSettled:
			require.Contains(w, granted, ev.Token)
			require.Equal(w, granted[ev.Token].Epoch, ev.Epoch)
			require.Equal(w, granted[ev.Token].SessionID, ev.SessionID)
			require.NotZero(w, ev.SessionID)
		}
	}
	require.False(w, waits, "each wait has an answer")
}
