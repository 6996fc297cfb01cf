package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/session"
)

// writer is a client that creates znodes and sets one as fast as it can, and records what was
// answered. A request without a reply may have been carried out or not.
type writer struct {
	session  *session.Session
	name     string
	made     int // znodes whose creation was answered
	asked    int // znodes that were requested
	set, try int // the same for the values of its counter
}

// run continues until a reply is lost or the context ends.
func (w *writer) run(ctx context.Context) {
	for ctx.Err() == nil {
		w.asked++
		if _, err := w.session.Create(ctx, fmt.Sprintf("/%s/%06d", w.name, w.asked), nil); err != nil {
			return
		}
		w.made = w.asked
		w.try++
		if _, err := w.session.Set(ctx, "/"+w.name, []byte(strconv.Itoa(w.try)), -1); err != nil {
			return
		}
		w.set = w.try
	}
}

// check compares the replies with the tree.
func (w *writer) check(t *testing.T, c *session.Session) {
	t.Helper()
	ctx := within(t, patience)
	names, _, err := c.Children(ctx, "/"+w.name)
	require.NoError(t, err)
	there := make(map[string]bool)
	for _, name := range names {
		there[name] = true
	}
	for i := 1; i <= w.made; i++ {
		if name := fmt.Sprintf("%06d", i); !there[name] {
			_, _, err := c.Exists(ctx, "/"+w.name+"/"+name)
			require.Failf(t, "lost", "%s of %s, of %d that were answered (%v)", name, w.name, w.made, err)
		}
	}
	require.LessOrEqual(t, len(names), w.asked)
	data, _, err := c.Get(ctx, "/"+w.name)
	require.NoError(t, err)
	value, err := strconv.Atoi(string(data))
	require.NoError(t, err)
	require.GreaterOrEqual(t, value, w.set)
	require.LessOrEqual(t, value, w.try)
	w.asked = w.made // those without a reply may exist
	for there[fmt.Sprintf("%06d", w.asked+1)] {
		w.asked++
	}
	w.made, w.set, w.try = w.asked, value, value
}

// The process is killed at random while it writes, again and again. What was answered is there each
// time, including sessions and ephemerals. In half of the cases, the end of the log is also
// damaged, behind everything that was answered: some random bytes follow it.
func TestAKillLosesNothingThatWasAnswered(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	const kills, writers = 20, 4
	server, dir := program(t), filepath.Join(t.TempDir(), "data")
	seed := tier.Seed(t.Name())
	tier.Again(t, seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	p := started(t, server, "--listen", "127.0.0.1:0", "--data", dir, "--log-size", "10000")
	address := p.address
	all := make([]*writer, writers)
	for i := range all {
		all[i] = &writer{session: client(t, address), name: fmt.Sprintf("w%d", i)}
		_, err := all[i].session.Create(within(t, patience), "/"+all[i].name, []byte("0"))
		require.NoError(t, err)
	}
	keeper := client(t, address)
	_, err := keeper.Create(within(t, patience), "/e", nil, session.Ephemeral())
	require.NoError(t, err)
	id := keeper.Status().SessionID
	for range kills {
		ctx, stop := context.WithCancel(t.Context())
		var work sync.WaitGroup
		for _, w := range all {
			work.Go(func() { w.run(ctx) })
		}
		<-time.After(time.Duration(rnd.IntN(150)) * time.Millisecond)
		p.end(t, syscall.SIGKILL)
		stop()
		work.Wait()
		if rnd.IntN(2) == 0 {
			tear(t, dir, rnd)
		}
		p = started(t, server, "--listen", address, "--data", dir, "--log-size", "10000")
		c := client(t, address)
		for _, w := range all {
			require.NoError(t, w.session.Sync(within(t, patience), "/"))
			w.check(t, c)
		}
		_, stat, err := keeper.Get(within(t, patience), "/e")
		require.NoError(t, err)
		require.Equal(t, id, stat.EphemeralOwner)
		require.Equal(t, id, keeper.Status().SessionID)
		require.NoError(t, c.Close(within(t, patience)))
	}
	made := 0
	for _, w := range all {
		made += w.made
	}
	snapshots, err := filepath.Glob(filepath.Join(dir, "snapshot.*"))
	require.NoError(t, err)
	t.Logf("%d znodes; %s", made, filepath.Base(snapshots[0]))
	require.NotEqual(t, "snapshot.0000000000000001", filepath.Base(snapshots[0]), "one was made in between")
	require.Positive(t, made)
	p.end(t, syscall.SIGTERM)
}

// tear appends the beginning of a frame to the last log, like a write that a crash has cut off. A
// log without a complete header is left as it is, because frames are written only when the header
// is on disk.
func tear(t *testing.T, dir string, rnd *rand.Rand) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, "log.*"))
	require.NoError(t, err)
	f, err := os.OpenFile(logs[len(logs)-1], os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	defer f.Close()
	const header = 20
	info, err := f.Stat()
	require.NoError(t, err)
	if info.Size() < header {
		return
	}
	garbage := make([]byte, rnd.IntN(100))
	for i := range garbage {
		garbage[i] = byte(rnd.Uint32())
	}
	_, err = f.Write(garbage)
	require.NoError(t, err)
}

// Two processes cannot share a directory, and the second one says why.
func TestAFolderIsOneProcesss(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	dir := t.TempDir()
	started(t, program(t), "--listen", "127.0.0.1:0", "--data", dir)
	require.ErrorContains(t, executed("server", "--listen", "127.0.0.1:0", "--data", dir), "another process uses the folder")
}
