package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/test/chaos/internal/history"
	"github.com/troupe-go/troupe/test/chaos/internal/work"
)

// witnesses are sessions that are connected to one server each, through no proxy.
type witnesses []*session.Session

func newWitnesses(servers []string) (ws witnesses, err error) {
	for _, addr := range servers {
		s, err := session.New([]string{addr}, session.WithNamespace(work.Root), session.WithTimeout(time.Minute))
		if err != nil {
			return ws, err
		}
		ws = append(ws, s)
	}
	return ws, nil
}

func (ws witnesses) close() {
	for _, s := range ws {
		_ = session.CloseWithin(s, time.Second) // its result does not matter any more
	}
}

// disagreement finds a znode that one server has while another, behind a sync, does not have it, or
// has other data, and that the first still has when it is asked again, behind a sync of its own.
// Healthy servers can't do that. These have lost their common history, and nothing that rests on it
// can be checked any more. It is called in a calm. It returns "" if there is no such znode, or the
// time was too short.
func (ws witnesses) disagreement(ctx context.Context) string {
	for i, one := range ws {
		paths, err := (&world{watcher: one}).tree(ctx, "/")
		if err != nil {
			return ""
		}
		for _, path := range paths {
			if j := ws.differ(ctx, i, path); j >= 0 {
				return fmt.Sprintf("server %d has a znode or data at %s that server %d has not", i, path, j)
			}
		}
	}
	return ""
}

// differ is the index of a server that lacks a znode, or has other data, while server i has it
// before and after; -1 if there is none.
func (ws witnesses) differ(ctx context.Context, i int, path string) int {
	before, err := ws.version(ctx, i, path, false)
	if err != nil || before == (version{}) {
		return -1
	}
	for j := range ws {
		if there, err := ws.version(ctx, j, path, false); err != nil || there == before {
			continue
		}
		if there, err := ws.version(ctx, j, path, true); err != nil || there == before {
			continue
		}
		if again, err := ws.version(ctx, i, path, true); err == nil && again == before {
			return j
		}
	}
	return -1
}

// version is that of a znode: the transactions that created it and that last set its data; zero
// without a znode.
type version struct{ created, set int64 }

// version is that of a znode as one server has it.
func (ws witnesses) version(ctx context.Context, i int, path string, synced bool) (version, error) {
	if synced {
		if err := ws[i].SyncQuorum(ctx, "/"); err != nil {
			return version{}, err
		}
	}
	stat, ok, err := ws[i].Exists(ctx, path)
	if err != nil || !ok {
		return version{}, err
	}
	return version{stat.Czxid, stat.Mzxid}, nil
}

var (
	errDisagree = errors.New("the servers disagree")
	errForgot   = errors.New("the servers have forgotten what they had confirmed")
)

// agree records it if the servers have come to differ, or have forgotten a write.
func (w *world) agree(ctx context.Context, out io.Writer, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	why, text := errForgot, w.memory.Lost(ctx)
	if text == "" {
		why, text = errDisagree, w.witnesses.disagreement(ctx)
	}
	if text == "" {
		if ctx.Err() != nil {
			fmt.Fprintln(out, "the servers were not compared to the end: there was no time")
		}
		return nil
	}
	w.recorder.Write(history.Event{Kind: history.Diverged, Value: text})
	return fmt.Errorf("%w: %s", why, text)
}
