package run

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/test/chaos/internal/history"
	"github.com/troupe-go/troupe/test/chaos/internal/memory"
	"github.com/troupe-go/troupe/test/chaos/internal/work"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// world has the targets of faults, and implements faults.World.
type world struct {
	*ensemble.Ensemble
	links    [][]*ensemble.Proxy // by worker and server
	workers  []*worker
	recorder *history.Writer  // the history of this process
	watcher  *session.Session // through no proxy
	witnesses
	memory  *memory.Memory
	parents []string // of contenders that an outsider strikes
}

func (w *world) KillServer(i int)                   { w.Kill(i) }
func (w *world) RestartServer(i int) error          { return w.Restart(i) }
func (w *world) StopServer(i int)                   { w.Stop(i) }
func (w *world) ContinueServer(i int)               { w.Continue(i) }
func (w *world) IsolateServer(i int) func()         { return w.Isolate(i) }
func (w *world) SeverServers(i, j int) func()       { return w.Sever(i, j) }
func (w *world) KillWorker(i int)                   { w.workers[i].kill() }
func (w *world) RestartWorker(i int) error          { return w.workers[i].start() }
func (w *world) StopWorker(i int)                   { w.workers[i].signal(suspend) }
func (w *world) ContinueWorker(i int)               { w.workers[i].signal(resume) }
func (w *world) PanicWorker(i int)                  { w.workers[i].tell(work.Panic) }
func (w *world) ExpireWorker(i int)                 { w.workers[i].tell(work.Expire) }
func (w *world) Link(i, server int) *ensemble.Proxy { return w.links[i][server] }

// Strike deletes the first contender below one of the parents.
func (w *world) Strike(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	parent := w.parents[rand.IntN(len(w.parents))]
	names, _, err := w.watcher.Children(ctx, parent)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return errors.New("no contender at " + parent)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(a[max(len(a)-10, 0):], b[max(len(b)-10, 0):]) })
	name := names[0] // the holder, mostly
	if rand.IntN(3) == 0 {
		name = names[rand.IntN(len(names))]
	}
	return w.strike(ctx, parent, parent+"/"+name)
}

// strike deletes a contender, and records the token of its possession. A downgraded writer's token
// is that of the znode before, which is in the data.
func (w *world) strike(ctx context.Context, parent, path string) error {
	data, stat, err := w.watcher.Get(ctx, path)
	if err != nil {
		return err
	}
	token := stat.Czxid
	if notes, _ := znode.ParseNotes(data); notes.Placed > 0 {
		token = notes.Placed
	}
	from := history.Now()
	if err := w.watcher.Delete(ctx, path, -1); err != nil && !errors.Is(err, session.ErrUnknownOutcome) {
		return err
	}
	w.recorder.Write(history.Event{Kind: history.Struck, From: from, Thing: parent, Token: token})
	return nil
}

// Raze deletes all contenders below a parent and, if no other has come meanwhile, the parent.
func (w *world) Raze(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	bare := work.Bare(w.parents)
	parent := bare[rand.IntN(len(bare))]
	for range 3 {
		names, _, err := w.watcher.Children(ctx, parent)
		if err != nil {
			return err
		}
		for _, name := range names {
			_ = w.strike(ctx, parent, parent+"/"+name) // it may be gone
		}
		if err := w.watcher.Delete(ctx, parent, -1); !errors.Is(err, session.ErrNotEmpty) {
			return err
		}
	}
	return nil
}

// addresses are those of a worker's own links.
func (w *world) addresses(i int) []string {
	var all []string
	for _, l := range w.links[i] {
		all = append(all, l.Addr())
	}
	return all
}

// open starts servers and links.
func (w *world) open(s Settings, folder string) (err error) {
	if w.recorder, err = history.Create(filepath.Join(folder, "main"+history.Suffix)); err != nil {
		return err
	}
	w.Ensemble, err = ensemble.New(s.Servers, ensemble.WithTick(s.Tick), ensemble.WithJVM(
		"-Dznode.container.checkIntervalMs=1000",
		// Otherwise a parent stays for ever whose creator is killed before it creates a child.
		"-Dznode.container.maxNeverUsedIntervalMs=5000",
	))
	if err != nil {
		return err
	}
	for range s.Workers {
		var links []*ensemble.Proxy
		for _, addr := range w.Servers() {
			l, err := ensemble.NewProxy(addr)
			if err != nil {
				return err
			}
			links = append(links, l)
		}
		w.links = append(w.links, links)
	}
	if w.watcher, err = session.New(w.Servers(), session.WithNamespace(work.Root)); err != nil {
		return err
	}
	w.memory = memory.Start(w.Servers(), work.Contended(s.Works)...)
	w.witnesses, err = newWitnesses(w.Servers())
	return err
}

// close ends everything, in any state.
func (w *world) close() {
	for _, worker := range w.workers {
		worker.kill()
	}
	if w.watcher != nil {
		_ = session.CloseWithin(w.watcher, time.Second) // its result does not matter any more
	}
	w.witnesses.close()
	if w.memory != nil {
		w.memory.Close()
	}
	for _, links := range w.links {
		for _, l := range links {
			l.Close()
		}
	}
	if w.Ensemble != nil {
		w.Ensemble.Close()
	}
	if w.recorder != nil {
		_ = w.recorder.Close() // the checks find missing events
	}
}
