package work

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/test/chaos/internal/history"
)

// Config is the configuration of a worker.
type Config struct {
	Name    string `json:"name"`    // of this process: unique in the run
	Index   int    `json:"index"`   // of the worker, which may be several processes, one after the other
	Workers int    `json:"workers"` // how many workers the run has

	// The servers and the session.
	Servers []string      `json:"servers"` // the addresses of this worker's own proxies
	Direct  []string      `json:"direct"`  // the addresses of the servers themselves
	Timeout time.Duration `json:"timeout"` // the session's
	Tick    time.Duration `json:"tick"`    // the servers'

	// The workloads.
	Seed  uint64   `json:"seed"`
	Works []string `json:"works"` // their names
	Long  float64  `json:"long"`  // the share of possessions that last about as long as a session

	// The files.
	Path string `json:"path"` // of the history that this process writes
	Log  string `json:"log"`  // the level of the session's log; "" for none
}

// The words that a worker reads on its standard input, a line each. The end of the input stands for
// Stop.
const (
	Drain  = "drain"  // begin nothing new, but finish the work in hand
	Stop   = "stop"   // close everything and end
	Panic  = "panic"  // let an actor panic
	Expire = "expire" // let a rival end the session
	Tell   = "tell"   // record the states of the session and its actors
)

// load is one workload. It begins new things until e.busy ends, and returns soon after ctx has
// ended.
type load func(ctx context.Context, e *env)

var loads = map[string]load{}

// Names are those of all workloads, sorted.
func Names() []string {
	var names []string
	for name := range loads {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// env has the means of a workload.
type env struct {
	Config
	*history.Writer
	sess    *session.Session
	metrics *sdkmetric.ManualReader          // of all sessions of this process
	open    func() (*session.Session, error) // opens another session of this process
	work    string                           // the workload's name
	slot    string                           // the part of the workload whose progress is checked by itself; "" for the whole
	busy    context.Context                  // ends when nothing new is to be begun
	rand    *rand.Rand                       // this workload's own: one goroutine uses it; others fork it
}

// fork gives a goroutine of the workload a generator of its own.
func (e *env) fork() *env {
	f := *e
	f.rand = rand.New(rand.NewPCG(e.rand.Uint64(), e.rand.Uint64()))
	return &f
}

// instance is a fork for a part of the workload whose progress is checked by itself.
func (e *env) instance(slot string) *env {
	f := e.fork()
	f.slot = slot
	f.Write(history.Event{Kind: history.Slot, Work: f.work, Party: f.Name, Thing: slot})
	return f
}

// Run does the work of one worker process, until a line or the end of in stops it, or ctx ends.
func Run(ctx context.Context, cfg Config, in io.Reader, log io.Writer) (err error) {
	w, err := history.Create(cfg.Path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	busy, drain := context.WithCancel(ctx)
	defer drain()
	system, err := actors.New()
	if err != nil {
		return err
	}
	other := &rival{servers: cfg.Direct}
	options := []session.Option{
		session.WithTimeout(cfg.Timeout), session.WithTick(cfg.Tick), session.WithNamespace(Root), session.WithSystem(system),
	}
	var level slog.Level
	if cfg.Log != "" && level.UnmarshalText([]byte(cfg.Log)) == nil {
		options = append(options, session.WithLogger(slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: level}))))
	}
	e, forever := &env{Config: cfg, Writer: w, busy: busy}, make(chan struct{})
	options = append(options, e.watched(forever)...)
	sess, err := session.New(cfg.Servers, append(slices.Clone(options), session.WithDialer(other.dial))...)
	if err != nil {
		return err
	}
	recipe.Start(sess)
	e.sess = sess
	e.open = func() (*session.Session, error) {
		s, err := session.New(cfg.Servers, options...)
		if err == nil {
			go e.epochs(ctx, s) // owner: the session; ends with it, or with ctx
		}
		return s, err
	}
	go e.epochs(ctx, sess) // owner: the session; ends with it, or with ctx
	words := map[string]func(){Drain: drain, Panic: panicAnActor, Expire: func() { e.expire(other) }, Tell: func() { e.tell(system) }}
	unknown := func(word string) {
		w.Write(history.Event{Kind: history.Failed, Work: "worker", Party: cfg.Name, Thing: "input", Value: fmt.Sprintf("unknown word %q", word)})
	}
	go obey(in, words, unknown, stop) // owner: this process; ends with the input or with the process
	e.level("begin")
	e.all(ctx)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*cfg.Timeout)
	defer cancel()
	if err := sess.Close(closing); err != nil {
		return fmt.Errorf("closing the session: %w", err)
	}
	if err := system.Close(closing); err != nil {
		return fmt.Errorf("closing the actors: %w", err)
	}
	close(forever)
	e.level("end")
	w.Write(history.Event{Kind: history.End, Party: cfg.Name})
	return nil
}

// obey carries out the words that it reads, until Stop or the end of the input.
func obey(in io.Reader, words map[string]func(), unknown func(word string), stop func()) {
	defer stop()
	for lines := bufio.NewScanner(in); lines.Scan() && lines.Text() != Stop; {
		if carryOut := words[lines.Text()]; carryOut != nil {
			carryOut()
		} else {
			unknown(lines.Text())
		}
	}
}

// expire lets a rival end the session. It records the attempt in any case: the session may have
// ended then.
func (e *env) expire(r *rival) {
	from := history.Now()
	r.expire(e.Timeout)
	e.Write(history.Event{Kind: history.Expired, From: from, Party: fmt.Sprintf("w%d", e.Index)})
}

// epochs records each epoch of a session but the first, when it begins: the one before has ended.
func (e *env) epochs(ctx context.Context, s *session.Session) {
	last := uint64(1)
	for status := range s.ObserveStatus(ctx) {
		for ; last < status.Epoch; last++ {
			e.Write(history.Event{Kind: history.Epoch, Party: e.Name, Token: int64(last + 1)})
		}
	}
}

// tell records the states of the session and of its actors.
func (e *env) tell(system *actors.System) {
	var text strings.Builder
	fmt.Fprintf(&text, "%+v", e.sess.Status())
	var walk func(nodes []actors.Node)
	walk = func(nodes []actors.Node) {
		for _, n := range nodes {
			fmt.Fprintf(&text, " | %s %s %q", n.Kind, n.Name, n.Phase)
			if n.Restarts > 0 {
				fmt.Fprintf(&text, " restarts %d", n.Restarts)
			}
			walk(n.Children)
		}
	}
	walk(system.Tree())
	e.Write(history.Event{Kind: history.Standstill, Thing: e.Name, Value: text.String()})
	if e.sess.Status().State == session.Connected {
		return
	}
	var stacks bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&stacks, 1); err == nil {
		e.Write(history.Event{Kind: history.Standstill, Thing: e.Name + " goroutines", Value: stacks.String()})
	}
}

// all runs the workloads, and returns when they and ctx have ended.
func (e *env) all(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for i, name := range e.Works {
		f := *e
		f.work = name
		f.rand = rand.New(rand.NewPCG(e.Seed, uint64(i)))
		wg.Go(func() { f.run(ctx) }) // owner: all; ends after ctx
	}
	wg.Go(func() { // owner: all; ends with ctx
		for pause(ctx, time.Second) {
			e.level("")
			e.look(ctx)
		}
	})
}

var errEnded = errors.New("the workload has ended by itself")

// run runs the workload. If that ends before it is told to, it is a failure, since other workers
// may wait for this one for ever.
func (e *env) run(ctx context.Context) {
	e.step("begun")
	loads[e.work](ctx, e)
	if e.busy.Err() == nil {
		e.failed("load", errEnded)
	}
	e.step("ended")
}

// level records how many goroutines there are and how much memory is in use: at the "begin" and at
// the "end" of the process, and meanwhile, "".
func (e *env) level(when string) {
	if when == "end" {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	e.Write(history.Event{
		Kind: history.Level, Party: e.Name, Value: when,
		Token: int64(runtime.NumGoroutine()), Weight: int64(m.HeapInuse),
	})
}

// moved records progress of the workload and of its instance.
func (e *env) moved() {
	e.Write(history.Event{Kind: history.Moved, Work: e.work, Party: e.Name, Thing: e.slot})
}

// step records the workload's present step.
func (e *env) step(what string) {
	e.Write(history.Event{Kind: history.Step, Work: e.work, Party: e.Name, Value: what})
}

// failed records an error that is not documented for users: a violation by itself.
func (e *env) failed(what string, err error) {
	e.Write(history.Event{Kind: history.Failed, Work: e.work, Party: e.Name, Thing: what, Value: err.Error()})
}

// ended reports whether an error is only the end of the caller's context or of the session.
func ended(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, context.Cause(ctx)) || errors.Is(err, ctx.Err())) || errors.Is(err, session.ErrClosed)
}

// span draws a time up to most. Short ones are likelier: half of them are below an eighth.
func (e *env) span(most time.Duration) time.Duration {
	x := e.rand.Float64()
	return time.Duration(x * x * x * float64(most))
}

// pause waits for d, and returns false if ctx ends before.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
