package callbacks_test

// Functions of recipes, of actors, and of calls. Helpers: callbacks_test.go.

import (
	"context"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/config"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
)

// codec acts when it decodes "odd", or when it encodes.
type codec struct {
	config.Codec[string]
	w              *world
	decode, encode bool
}

func (c codec) Decode(data []byte) (string, error) {
	if c.decode && strings.HasPrefix(string(data), "odd") {
		c.w.act()
	}
	return string(data), nil
}

func (c codec) Encode(v string) ([]byte, error) {
	if c.encode {
		c.w.act()
	}
	return []byte(v), nil
}

func decode(w *world) {
	s := w.Session(w.log.Option())
	g := w.held(s, "/lock")
	must(s.Create(w.Context(), "/a", []byte("one")))
	cell := must(config.Open(w.Context(), s, "/a", codec{config.Text(), w, true, false}))
	w.armed.Store(true)
	must(s.Set(w.Context(), "/a", []byte("odd"), -1))
	time.Sleep(2 * time.Minute)
	require.Equal(w, map[string]string{
		panics: "one", // as with data that can't be decoded, the last value stays
		never:  "one",
		exits:  "odd", // it is called again
		slow:   "odd",
	}[w.way], cell.Load().Value)
	w.sound(s, g)
	if w.way == never {
		began := time.Now()
		require.NoError(w, cell.Close(w.Context()))
		require.Equal(w, time.Second, time.Since(began))
		w.armed.Store(true)
		within, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		began = time.Now()
		_, err := config.Open(within, s, "/a", codec{config.Text(), w, true, false})
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.Equal(w, time.Second, time.Since(began))
	}
	w.closes(s, time.Second)
	if w.way != panics { // a panic is in the cell's snapshot, and not in the log
		w.named()
	}
}

// scripted is a machine that passes on what it is told.
type scripted struct{ act func(name string) }

// said is told to the machine, which tells it to the recipe.
type said string

func (m scripted) Step(ev machine.Event) []machine.Effect {
	m.act("Step")
	switch ev := ev.(type) {
	case said:
		if ev == "crash" {
			panic(ev)
		}
		return []machine.Effect{ev}
	case machine.Closing:
		return []machine.Effect{machine.Stop{}}
	}
	return nil
}

// callback is one of an application's own recipe.
func callback(name string) func(w *world) {
	return func(w *world) {
		s := w.Session(w.log.Option())
		g := w.held(s, "/lock")
		act := func(of string) {
			if of == name {
				w.act()
			}
		}
		heard := make(chan machine.Effect, 10)
		w.armed.Store(name != "Ended")
		host := must(recipe.New(recipe.Config{
			Session: s, Kind: "scripted", Path: "/a", Machine: func() machine.Machine { act("Machine"); return scripted{act} },
			Standing: func() []machine.Event { act("Standing"); return nil },
			Perform:  func(e machine.Effect) { act("Perform"); heard <- e }, Ended: func(error) { act("Ended") },
		}))
		if name == "Standing" { // which is asked after a crash
			host.Tell(said("crash"))
		}
		host.Tell(said("first"))
		time.Sleep(2 * time.Minute)
		host.Tell(said("second"))
		if w.way != never || name == "Ended" {
			bubble.Await(w, heard, "it goes on", func(e machine.Effect) bool { return e == said("second") })
		}
		w.sound(s, g)
		w.armed.Store(name == "Ended")
		within, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		began := time.Now()
		_ = host.Close(within)
		require.LessOrEqual(w, time.Since(began), 2*time.Second)
		w.sound(s, g)
		w.closes(s, time.Second)
		w.named()
	}
}

// member is an actor of an application's own.
type member struct {
	act   func(name string)
	heard chan string
}

func (m member) Receive(s string) { m.act("Receive"); m.heard <- s }
func (m member) Stopping(error)   { m.act("Stopping") }

func actor(name string) func(w *world) {
	return func(w *world) {
		system := w.System()
		s := w.Session(w.log.Option())
		g := w.held(s, "/lock")
		act := func(of string) {
			if of == name {
				w.act()
			}
		}
		heard := make(chan string, 10)
		atEnd := name == "Ended" || name == "Stopping"
		w.armed.Store(!atEnd)
		ref := must(actors.Spawn(system.Scope(), actors.Spec[string]{
			Name: "member", New: func(actors.Self[string]) actors.Receiver[string] { act("New"); return member{act, heard} },
			Ended: func(error) { act("Ended") },
		}))
		ref.Tell("first")
		time.Sleep(2 * time.Minute)
		ref.Tell("second")
		if w.way != never || atEnd {
			bubble.Await(w, heard, "it goes on", func(s string) bool { return s == "second" })
		}
		w.armed.Store(atEnd)
		ref.Stop()
		time.Sleep(2 * time.Minute)
		w.sound(s, g)
		w.closes(s, 0)
		within, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		err := system.Close(within)
		if w.way == never {
			require.ErrorIs(w, err, context.DeadlineExceeded)
			return
		}
		require.NoError(w, err)
		w.named()
	}
}

// inGoroutine has a goroutine of the application's call what calls the function, and returns when
// that has ended, or after two minutes.
func inGoroutine(w *world, call func()) {
	w.armed.Store(true)
	ended, reason := make(chan struct{}), any(nil)
	go func() { // ends with the call
		defer close(ended)
		defer func() { reason = recover() }()
		call()
	}()
	select {
	case <-ended:
		require.NotEqual(w, never, w.way)
	case <-time.After(2 * time.Minute):
		require.Equal(w, never, w.way)
		return
	}
	require.Equal(w, map[string]any{panics: "on purpose"}[w.way], reason, "a panic is the caller's")
}

// possessed is inGoroutine for a call that holds paths while it calls the function: when the call
// has ended, or its session is closed, another session holds them next.
func possessed(w *world, call func(s *session.Session), paths ...string) {
	s, other := w.Session(w.log.Option()), w.Session()
	inGoroutine(w, func() { call(s) })
	began := time.Now()
	if w.way == never {
		require.NoError(w, s.Close(w.Context()))
	}
	for _, path := range paths {
		w.held(other, path)
	}
	require.Less(w, time.Since(began), time.Second)
	if w.way != never {
		require.NoError(w, s.Close(w.Context()))
	}
}

func do(w *world) {
	possessed(w, func(s *session.Session) {
		l, _ := lock.New(s, "/a")
		_ = l.Do(w.Context(), func(context.Context, *lock.Grant) error { w.act(); return nil })
	}, "/a")
}

func doMulti(w *world) {
	possessed(w, func(s *session.Session) {
		a, _ := lock.New(s, "/a")
		b, _ := lock.New(s, "/b")
		m, _ := lock.NewMulti(a, b)
		_ = m.Do(w.Context(), func(context.Context, *lock.MultiGrant) error { w.act(); return nil })
	}, "/a", "/b")
}

func run(w *world) {
	possessed(w, func(s *session.Session) {
		e, _ := election.New(s, "/a")
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = e.Run(ctx, func(context.Context, *election.Term) error { w.act(); cancel(); return nil })
	})
	must(must(election.New(w.Session(), "/a")).Lead(w.Context()))
}

func update(w *world) {
	updated(w, false, func(s string) (string, error) { w.act(); return s + "x", nil })
}

func encode(w *world) {
	updated(w, true, func(s string) (string, error) { return s + "x", nil })
}

// updated has change, or the codec's Encode, act in a first update; a second one works.
func updated(w *world, encode bool, change func(string) (string, error)) {
	s := w.Session(w.log.Option())
	cell := must(config.Open(w.Context(), s, "/a", codec{config.Text(), w, false, encode}))
	inGoroutine(w, func() { _, _ = cell.Update(w.Context(), change) })
	before := cell.Load().Value
	must(cell.Update(w.Context(), change))
	time.Sleep(time.Second)
	require.Equal(w, before+"x", cell.Load().Value)
	w.closes(s, 0)
}

func backoff(w *world) {
	s := w.Session(w.log.Option())
	q := must(queue.New(s, "/q", queue.WithBackoff(func(int) time.Duration { w.act(); return 0 })))
	must(q.Put(w.Context(), []byte("item")))
	i := must(q.Take(w.Context()))
	inGoroutine(w, func() { _ = i.Nack(w.Context()) })
	if w.way != slow { // then it is returned already
		require.NoError(w, i.Nack(w.Context()), "it can be returned all the same")
	}
	i = must(q.Take(w.Context()))
	require.Equal(w, 2, i.Attempt())
	w.closes(s, 0)
}
