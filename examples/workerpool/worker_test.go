package main

// A worker and a coordinator that lose their sessions, and what the comparison finds.

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
	"github.com/troupe-go/troupe/zktest/zksession"
)

// employ makes a worker on an embedded server, with a directory of ten files in batches of one.
func employ(t *testing.T) (*worker, *zktest.Server) {
	t.Helper()
	srv := zktest.Start(t)
	s := zksession.Open(t, srv)
	must(s.Create(t.Context(), resultsPath, nil))
	dir := t.TempDir()
	for i := range 10 {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprint("file", i)), []byte{byte(i)}, 0o600))
	}
	files := must(list(dir))
	require.Equal(t, 10, files.batches())
	q := must(queue.New(s, queuePath))
	return &worker{"w1", files, s, q}, srv
}

func TestWorkerThatLostItsClaimIsRefused(t *testing.T) {
	t.Parallel()
	w, srv := employ(t)
	ctx := t.Context()
	must(w.queue.Put(ctx, nil, queue.WithID(batchName(0))))
	first := must(w.queue.Take(ctx))
	srv.Expire(w.session.Status().SessionID)
	<-first.Done()
	require.ErrorIs(t, w.do(ctx, first), session.ErrLost)
	_, exists, err := w.session.Exists(ctx, resultPath(0))
	require.NoError(t, err)
	require.False(t, exists, "there is no result")

	second := must(w.queue.Take(ctx))
	require.NoError(t, w.do(ctx, second))
	text, _, err := w.session.Get(ctx, resultPath(0))
	require.NoError(t, err)
	var r result
	require.NoError(t, json.Unmarshal(text, &r))
	require.Equal(t, second.Token(), r.Token)
	require.Greater(t, second.Token(), first.Token())

	_, err = w.queue.Put(ctx, nil, queue.WithID(batchName(0)))
	require.NoError(t, err, "by a coordinator who did not know")
	third := must(w.queue.Take(ctx))
	require.NoError(t, w.do(ctx, third), "a batch that is done is not done again")
}

func TestTheNextCoordinatorGoesOn(t *testing.T) {
	t.Parallel()
	w, srv := employ(t)
	candidate := must(election.New(w.session, leaderPath))
	first := must(candidate.Lead(t.Context()))
	srv.Expire(w.session.Status().SessionID)
	<-first.Done()
	require.NoError(t, w.coordinate(t.Context(), first), "it puts nothing")
	require.Zero(t, must(w.queue.Stats(t.Context())).Items)

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- candidate.Run(ctx, w.coordinate) }() // ends with stop
	go func() { ended <- w.work(ctx) }()                      // likewise
	for now := range w.session.WatchChildren(ctx, resultsPath) {
		if len(now.Names) == w.tree.batches() {
			break
		}
	}
	require.Empty(t, must(check(ctx, w.session, w.tree, nil)))
	stop()
	<-ended
	<-ended
}

func TestTheComparisonFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	w, _ := employ(t)
	for n := range w.tree.batches() {
		r := result{"w1", int64(n), w.tree.hash(n)}
		if n == 3 {
			r.Sums[0] = "other"
		}
		must(w.session.Create(t.Context(), resultPath(n), must(json.Marshal(r))))
	}
	must(w.session.Create(t.Context(), resultPath(10), nil))
	wrong := must(check(t.Context(), w.session, w.tree, []refusal{{5, 5}, {6, 5}, {7, 100}}))
	require.Len(t, wrong, 3)
	require.Contains(t, wrong[0], "batch 3 of w1")
	require.Contains(t, wrong[1], "batch 5: written with token 5")
	require.Contains(t, wrong[2], "11 results of 10 batches")
}

// must returns v. An error while a test is arranged is a panic.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
