package main

// troupe queue: what is in it, and what puts, moves and deletes items.

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
)

// jobs is a queue with an item that is claimed, one that waits, one that is delayed, one that is
// not to be read, and a dead letter.
func jobs(t *bubble.World) {
	t.Helper()
	q := must(queue.New(t.Session(session.WithoutIdentity()), "/jobs", queue.WithMaxAttempts(1)))
	put := func(data string, opts ...queue.PutOption) {
		must(q.Put(bubble.Minute(t), []byte(data), opts...))
	}
	put("dead", queue.WithID("d"), queue.WithHeader("content-type", "text/plain"), queue.WithHeader("color", "red\x1b[2J"))
	item := must(q.Take(bubble.Minute(t)))
	require.NoError(t, item.Nack(bubble.Minute(t), queue.WithError(errors.New("the printer\x1b[2J has no paper"))))
	put("one")
	put("two\x1b[2J", queue.WithPriority(3), queue.WithID("b"))
	put("three", queue.WithDelay(time.Hour), queue.WithID("c"))
	must(q.Take(bubble.Minute(t)))
	require.NoError(t, t.Server.Znodes(t).Create("/jobs/items/3-0000000000/11111111-2222-4333-8444-555555555555-queue-0000000099", []byte("foreign")))
	time.Sleep(4*time.Minute + 12*time.Second)
}

// Whose a claimed item is, why another one was returned, and that a third waits for a consumer.
func TestQueueLsSaysWhyItStands(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		q := must(queue.New(t.Session(session.WithIdentity("orders-7")), "/jobs"))
		for id, delay := range map[string]time.Duration{"failed": 0, "late": time.Minute} {
			must(q.Put(bubble.Minute(t), nil, queue.WithID(id), queue.WithDelay(delay)))
		}
		item := must(q.Take(bubble.Minute(t)))
		require.NoError(t, item.Nack(bubble.Minute(t), queue.WithError(errors.New("no paper "+strings.Repeat("!", 200))), queue.WithPause(100*time.Hour)))
		must(q.Put(bubble.Minute(t), nil, queue.WithID("held")))
		must(q.Take(bubble.Minute(t)))
		time.Sleep(5*time.Minute + 12*time.Second)
		out, _ := troupe(t, "queue", "ls", "/jobs")
		who := `orders-7 on host \S+ \(pid \d+\)`
		require.Regexp(t, `held +claimed +`+who+` +5m12s +0 +1 +-`, out)
		require.Regexp(t, `late +overdue, no consumer has room +- +5m12s +0 +0 +4m12s +-`, out)
		require.Regexp(t, `failed +delayed +- +5m12s +0 +1 +in 4d3h +no paper !{51} +5m12s +`+who, out)
		out, _ = troupe(t, "queue", "show", "/jobs", "failed")
		require.Regexp(t, `last error +no paper !{200}\n`, out)
		out, _ = troupe(t, "queue", "consumers", "/jobs")
		require.Regexp(t, who+` +0x\w+ +1 +0 +5m12s`, out)
	})
}

func TestQueueCommands(t *testing.T) {
	t.Parallel()
	for name, runs := range map[string][]string{
		"queue-ls": {
			"ls /jobs", "ls /jobs --limit 1 -o json", "ls /jobs --limit 0", "peek /jobs", "dead /jobs",
			"ls /no", "dead /", "ls /jobs --limit -1",
		},
		"queue-why": {
			"show /jobs d", "show /jobs d -o json", "show /jobs c", "show /jobs no", "consumers /jobs", "consumers /jobs -o json", "dead /jobs --older-than 1h", "dead /jobs --older-than 4m",
			"requeue /jobs --older-than 1h", "dead /jobs",

			"requeue /jobs", "requeue /jobs d --all", "requeue /jobs --all --older-than 1h", "requeue /jobs --all", "dead /jobs",
		},
		"queue-pause": {
			"pause /jobs", "pause /jobs", "stats /jobs", "stats /jobs -o json", "ls /jobs --limit 1", "show /jobs b", "resume /jobs", "resume /jobs",
			"stats /jobs", "stats /no", "pause /no", "resume /no",
		},
		"queue-change": {
			"put /jobs data --id e --priority -1", "put /jobs again --id e",
			"put /new first --create --delay 1h --id f -o json", "ls /new", "requeue /jobs no", "requeue /jobs d",
			"remove /jobs b", "remove /jobs b no --yes", "purge /jobs --dry-run", "purge /jobs", "purge /no --yes", "--yes purge /jobs --limit 2", "ls /jobs",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(t *bubble.World) {
				jobs(t)
				golden(t, name, each("queue "+strings.Join(runs, "\nqueue "))...)
			})
		})
	}
}

// A path that is no queue is left alone, and a person is asked before items are deleted.
func TestQueueRefusals(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		queued(t, "/lock")
		_, before, _ := strings.Cut(t.Server.Dump(), "\n")
		for _, run := range []string{"ls /lock", "peek /lock", "dead /lock", "put /lock x", "requeue /lock x", "remove /lock x --yes", "purge /lock --yes", "pause /lock", "resume /lock", "stats /lock"} {
			out, code := troupe(t, append([]string{"queue"}, strings.Fields(run)...)...)
			require.Contains(t, out, "troupe: /lock is no queue: its children are others", run)
			require.Equal(t, 1, code, run)
		}
		_, after, _ := strings.Cut(t.Server.Dump(), "\n")
		require.Equal(t, before, after)
		jobs(t)
		out, code := typed("n\n").run(bubble.Minute(t), t, "queue", "purge", "/jobs")
		require.Equal(t, "delete 4 of 4 items of /jobs? [y/N] troupe: nothing was changed\n", out)
		require.Equal(t, 1, code)
		out, code = typed("y\n").run(bubble.Minute(t), t, "queue", "purge", "/jobs")
		require.Equal(t, "delete 4 of 4 items of /jobs? [y/N] deleted 4\n", out)
		require.Zero(t, code)
	})
}

// An item is read from the standard input; thousands are moved and deleted with a word now and
// then.
func TestQueueOfThousands(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		out, code := typed("of two\nlines\n").run(bubble.Minute(t), t, "queue", "put", "/many", "-", "--id", "a", "--create")
		require.Equal(t, "a\n", out)
		require.Zero(t, code)
		q := must(queue.New(t.Session(), "/many"))
		e := must(q.Peek(bubble.Minute(t)))
		require.Equal(t, "of two\nlines\n", string(e.Data))
		for n := range 11 {
			items := make([][]byte, 100)
			must(q.PutAll(bubble.Minute(t), items, queue.WithPriority(n)))
		}
		out, _ = troupe(t, "queue", "purge", "/many", "--yes")
		require.Equal(t, "deleted 1000\ndeleted 1101\n", out)
	})
}

// A dead letter that no queue has written, or that has gone meanwhile, keeps none of the others.
func TestRequeueGoesOnBehindWhatItCannotFind(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		jobs(t)
		require.NoError(t, t.Server.Znodes(t).Create("/jobs/dead/items/-1-0000000000/11111111-2222-4333-8444-555555555555-queue-0000000000", []byte("foreign")))
		out := exits(t, 1, "queue", "requeue", "/jobs", "--all")
		require.Contains(t, out, `troupe: 11111111-2222-4333-8444-555555555555: requeue /jobs: ids: not supported`)
		require.Contains(t, out, `which no queue has written`)
		out, _ = troupe(t, "queue", "ls", "/jobs")
		require.Regexp(t, "d +waits ", out)
		out = exits(t, 0, "queue", "purge", "/jobs", "--dry-run", "--limit", "2", "-o", "json")
		require.JSONEq(t, `{"would_delete": 2, "items": 5}`, out)
	})
}

// The advice is about the path: without a queue no item is asked for.
func TestRequeueWithoutAQueueNamesThePathAlone(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		out := exits(t, 5, "queue", "requeue", "/nope", "a", "b")
		require.Contains(t, out, "/nope: the znode does not exist")
		require.Contains(t, out, "are the path and --namespace right")
		require.NotContains(t, out, "troupe queue ls")
		require.Equal(t, 1, strings.Count(out, "\n"), out)
	})
}

func TestOlderThanIsNotNegative(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		jobs(t)
		for _, run := range []string{"queue requeue /jobs --older-than=-1h", "queue dead /jobs --older-than=-1h"} {
			require.Equal(t, "troupe: --older-than -1h0m0s: negative\n", exits(t, 2, strings.Fields(run)...))
		}
		require.Equal(t, "troupe: which: IDs, --all or --older-than\n", exits(t, 2, strings.Fields("queue requeue /jobs d --older-than=-1h")...))
		require.Contains(t, exits(t, 0, "queue", "dead", "/jobs"), "4 items, 1 dead letters", "nothing was put back")
	})
}

// An item that may not be read, or that no queue has written, is not reported as missing.
func TestQueueShowOfWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		jobs(t)
		const letters = "/jobs/dead/items/-1-0000000000/"
		require.NoError(t, t.Server.Znodes(t).Create(letters+"11111111-2222-4333-8444-666666666666-queue-0000000000", []byte("foreign")))
		const hidden = "22222222-2222-4333-8444-555555555555"
		must(t.Session(session.WithAuth("digest", []byte("alice:secret"))).Create(bubble.Minute(t), letters+hidden+"-queue-0000000001", nil, session.WithNodeACL(session.AuthACL(session.PermAll)...)))
		for _, id := range []string{"11111111-2222-4333-8444-555555555555", "11111111-2222-4333-8444-666666666666"} {
			out := exits(t, 0, "queue", "show", "/jobs", id)
			require.Regexp(t, `state +unreadable\n`, out)
		}
		out := exits(t, 4, "queue", "show", "/jobs", hidden)
		require.Contains(t, out, hidden+"-queue-0000000001 needs READ; this session is world:anyone")
		out = exits(t, 4, "queue", "show", "/jobs", "buried")
		require.Contains(t, out, `does not exist: "buried", unless it is one that may not be read: `)
	})
}
