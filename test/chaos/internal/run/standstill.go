package run

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/test/chaos/internal/history"
	"github.com/troupe-go/troupe/test/chaos/internal/work"
)

// most is how many znodes of a workload are recorded.
const most = 60

// standstill finds, at the end of a calm, workloads that have not moved in it. It records the
// znodes below theirs, and lets the workers record their states, which are gone later. Znodes that
// cannot be read are left out: the violation is found without them. ends are the ends of the
// histories when the calm began.
func (w *world) standstill(ctx context.Context, s Settings, folder string, ends map[string]int64) {
	events, err := history.LoadFrom(folder, ends)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	told := false
	for _, name := range s.Works {
		if slices.ContainsFunc(events, func(e history.Event) bool { return e.Kind == history.Moved && e.Work == name }) {
			continue
		}
		if !told {
			told = true
			for _, worker := range w.workers {
				worker.tell(work.Tell)
			}
			w.pause(ctx, s.Timeout/6)
		}
		paths, err := w.tree(ctx, "/"+name)
		if err != nil {
			continue
		}
		for _, path := range paths[:min(len(paths), most)] {
			if data, stat, err := w.watcher.Get(ctx, path); err == nil {
				w.recorder.Write(history.Event{Kind: history.Standstill, Work: name, Thing: path, Value: describe(data, stat)})
			}
		}
	}
}

// describe is a znode in a line.
func describe(data []byte, stat session.Stat) string {
	text := fmt.Sprintf("%q version %d created %s", data[:min(len(data), 200)], stat.Version, stat.Ctime.Format(time.StampMilli))
	if stat.EphemeralOwner != 0 {
		text += fmt.Sprintf(" of the session %d", stat.EphemeralOwner)
	}
	return text
}
