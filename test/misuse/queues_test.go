package misuse_test

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/config"
	"github.com/troupe-go/troupe/recipes/group"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/recipes/naming"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
)

// queues are misuses of package queue.
func queues(w *world) []row {
	with := func(opts ...queue.Option) func() error {
		return func() error { return of(queue.New(w.s, "/a", opts...)) }
	}
	below := w.Unconnected(session.WithNamespace("/a"))
	at := func(s *session.Session, path string) *queue.Queue {
		q, err := queue.New(s, path)
		require.NoError(w, err)
		return q
	}
	q := at(w.s, "/a")
	require.NoError(w, of(q.Put(w.Context(), []byte("x"))))
	put := func(opts ...queue.PutOption) func() error {
		return func() error { return of(q.Put(w.Context(), []byte("x"), opts...)) }
	}
	consume := func(opts ...queue.ConsumeOption) func() error {
		return func() error { return of(q.Consume(opts...)) }
	}
	over := at(w.other, "/b")
	_, err := over.Put(w.Context(), []byte("x"))
	require.NoError(w, err)
	item, err := over.Take(w.Context())
	require.NoError(w, err)
	closed := at(w.s, "/a")
	require.NoError(w, closed.Close(w.Context()))
	var none *lock.Grant
	rows := []row{
		{"queue.New: a namespace's root", func() error { return of(queue.New(below, "/")) }, session.ErrInvalidPath, "path: the root"},
		{"queue.WithCapacity: 0", with(queue.WithCapacity(0)), nil, "WithCapacity: 0"},
		{"queue.WithCapacity: negative", with(queue.WithCapacity(-1)), nil, "WithCapacity: -1"},
		{"queue.WithMaxAttempts: 0", with(queue.WithMaxAttempts(0)), nil, "WithMaxAttempts: 0"},
		{"queue.WithMaxAttempts: negative", with(queue.WithMaxAttempts(-1)), nil, "WithMaxAttempts: -1"},
		{"queue.WithVisibility: 0", with(queue.WithVisibility(0)), nil, "WithVisibility: 0s"},
		{"queue.WithVisibility: a bare number", with(queue.WithVisibility(30)), nil, "WithVisibility: 30ns"},
		{"queue.WithVisibility: negative", with(queue.WithVisibility(-1)), nil, "WithVisibility: -1ns"},
		{"queue.WithDeadLetters: a namespace's root", func() error {
			return of(queue.New(below, "/q", queue.WithDeadLetters("/")))
		}, session.ErrInvalidPath, "WithDeadLetters: "},
		{"queue.WithBackoff: nil", with(queue.WithBackoff(nil)), nil, "WithBackoff: nil"},
		{"queue.WithWarnAfter: negative", with(queue.WithWarnAfter(-1)), nil, "WithWarnAfter: d: negative"},
		{"queue.Put: a nil option", put(nil), nil, "put /a: opts[0]: nil"},
		{"queue.Put: too large", func() error { return of(q.Put(w.Context(), large)) }, session.ErrTooLarge, "put /a: "},
		{"queue.Put: a closed queue", func() error { return of(closed.Put(w.Context(), nil)) }, session.ErrClosed, "put /a: "},
		{"queue.WithPriority: too large", put(queue.WithPriority(10_000)), nil, "WithPriority: 10000"},
		{"queue.WithPriority: too small", put(queue.WithPriority(-10_000)), nil, "WithPriority: -10000"},
		{"queue.WithDelay: negative", put(queue.WithDelay(-1)), nil, "WithDelay: -1ns"},
		{"queue.WithHeader: no key", put(queue.WithHeader("", "x")), nil, "WithHeader: key: empty"},
		{"queue.WithHeader: a value that is no UTF-8", put(queue.WithHeader("k", "\xff")), nil, "WithHeader: not"},
		{"queue.WithHeader: a key that is none", put(queue.WithHeader("\xff", "x")), nil, "WithHeader: not"},
		{"queue.WithHeader: too large", put(queue.WithHeader("k", string(large))), session.ErrTooLarge, "put /a: "},
		{"queue.WithEphemeral: with a delay", put(queue.WithEphemeral(), queue.WithDelay(1)), session.ErrUnsupported, "WithEphemeral: "},
		{"queue.Under: nil", put(queue.Under(nil)), session.ErrLost, "Under: p: "},
		{"queue.Under: a nil grant", put(queue.Under(none)), session.ErrLost, "Under: p: "},
		{"queue.Under: of another session", put(queue.Under(item)), session.ErrUnsupported, "Under: "},
		{"queue.PutAll: no items", func() error { return of(q.PutAll(w.Context(), nil)) }, nil, "items: none"},
		{"queue.PutAll: one id for two", func() error {
			return of(q.PutAll(w.Context(), [][]byte{nil, nil}, queue.WithID("x")))
		}, nil, "WithID: "},
		{"queue.Remove: no id", func() error { return q.Remove(w.Context(), "") }, nil, "id: empty"},
		{"queue.Requeue: no id", func() error { return q.Requeue(w.Context(), "") }, nil, "ids: an empty one"},
		{"queue.Consume: a nil option", consume(nil), nil, "opts[0]: nil"},
		{"queue.Consume: a closed queue", func() error { return of(closed.Consume()) }, session.ErrClosed, "consume /a: "},
		{"queue.Take: a closed queue", func() error { return of(closed.Take(w.Context())) }, session.ErrClosed, "take /a: "},
		{"queue.Extend: 0", func() error { return item.Extend(w.Context(), 0) }, nil, "d: 0s"},
		{"queue.Extend: no WithVisibility", func() error {
			return item.Extend(w.Context(), time.Second)
		}, session.ErrUnsupported, "the queue was created without WithVisibility"},
		{"queue.Nack: a nil option", func() error { return item.Nack(w.Context(), nil) }, nil, "opts[0]: nil"},
		{"queue.After: negative", func() error { return item.Nack(w.Context(), queue.After(-1)) }, nil, "After: -1ns"},
	}
	for _, path := range append(notPaths, "/", "/zookeeper", "/zookeeper/quota", "/a") {
		call := fmt.Sprintf("queue.WithDeadLetters: %q", path)
		rows = append(rows, row{call, with(queue.WithDeadLetters(path)), session.ErrInvalidPath, "WithDeadLetters: "})
	}
	for _, n := range []int{0, -1, 10_001} {
		rows = append(rows,
			row{fmt.Sprintf("queue.WithPrefetch: %d", n), consume(queue.WithPrefetch(n)), nil, "WithPrefetch: "},
			row{fmt.Sprintf("queue.WithWorkers: %d", n), consume(queue.WithWorkers(n)), nil, "WithWorkers: "})
	}
	for id, says := range map[string]string{
		"": "empty", "a/b": "contains a slash", "..": "relative", "\x00": "", "a\xff": "not UTF-8",
		strings.Repeat("x", 256): "longer than 255",
	} {
		rows = append(rows, row{fmt.Sprintf("queue.WithID: %.9q", id), put(queue.WithID(id)), nil, "WithID: " + says})
	}
	return rows
}

// commits are misuses of package twopc.
func commits(w *world) []row {
	with := func(opts ...twopc.Option) func() error {
		return func() error { return of(twopc.NewCoordinator(w.s, "/a", opts...)) }
	}
	site := func(name string, opts ...twopc.Option) func() error {
		return func() error { return of(twopc.NewSite(w.s, "/a", name, opts...)) }
	}
	c, err := twopc.NewCoordinator(w.s, "/a")
	require.NoError(w, err)
	begin := func(id string, sites ...string) func() error {
		return func() error { return of(c.Begin(w.Context(), id, nil, sites...)) }
	}
	s, err := twopc.NewSite(w.s, "/a", "a")
	require.NoError(w, err)
	tx, err := c.Begin(w.Context(), "t", nil, "a")
	require.NoError(w, err)
	p := bubble.Get(w, s.Proposals())
	closed, err := twopc.NewCoordinator(w.s, "/a")
	require.NoError(w, err)
	require.NoError(w, closed.Close(w.Context()))
	long := strings.Repeat("x", 1025)
	rows := []row{
		{"twopc.WithVoteTimeout: 0", with(twopc.WithVoteTimeout(0)), nil, "WithVoteTimeout: "},
		{"twopc.WithVoteTimeout: a bare number", with(twopc.WithVoteTimeout(30)), nil, "WithVoteTimeout: "},
		{"twopc.WithVoteTimeout: negative", with(twopc.WithVoteTimeout(-time.Second)), nil, "WithVoteTimeout: "},
		{"twopc.WithVoteTimeout: a site", site("b", twopc.WithVoteTimeout(time.Second)), nil, "WithVoteTimeout: for coordinators"},
		{"twopc.WithPeerDecision: a site", site("b", twopc.WithPeerDecision()), nil, "WithPeerDecision: for coordinators"},
		{"twopc.Begin: no sites", begin("u"), nil, "sites: none"},
		{"twopc.Begin: a site twice", begin("u", "a", "b", "a"), nil, "sites[2]: "},
		{"twopc.Begin: a long id", begin(long, "a"), nil, "id: 1025 bytes"},
		{"twopc.Begin: too large", func() error { return of(c.Begin(w.Context(), "u", large, "a")) }, session.ErrTooLarge, "payload"},
		{"twopc.Begin: a closed coordinator", func() error { return of(closed.Begin(w.Context(), "u", nil, "a")) }, session.ErrClosed, "/a/tx/u: closed"},
		{"twopc.Recover: a closed coordinator", func() error { return of(closed.Recover(w.Context())) }, session.ErrClosed, "/a: closed"},
		{"twopc.Tx.Abort: a long reason", func() error { return tx.Abort(w.Context(), long) }, nil, "reason: 1025 bytes"},
		{"twopc.Tx.Ack: undecided", func() error { return tx.Ack(w.Context()) }, twopc.ErrUndecided, "t"},
		{"twopc.Proposal.Abort: a long reason", func() error { return p.Abort(w.Context(), long) }, nil, "reason: 1025 bytes"},
	}
	for _, bad := range []string{"", "a/b", "..", "a\x00"} {
		rows = append(rows,
			row{fmt.Sprintf("twopc.NewSite: name %q", bad), site(bad), nil, "name: empty, or not a name"},
			row{fmt.Sprintf("twopc.Begin: id %q", bad), begin(bad, "a"), nil, "id: empty, or not a name"},
			row{fmt.Sprintf("twopc.Begin: site %q", bad), begin("u", "a", bad), nil, "sites[1]: empty, or not a name"})
	}
	return rows
}

// records are misuses of packages group, config and naming.
func records(w *world) []row {
	g, err := group.New(w.s, "/g")
	require.NoError(w, err)
	gone, err := group.New(w.s, "/g")
	require.NoError(w, err)
	require.NoError(w, gone.Close(w.Context()))
	join := func(g *group.Group, id string) func() error {
		return func() error { return of(g.Join(group.Member{ID: id})) }
	}
	c, err := config.Open(w.Context(), w.s, "/c", config.Text())
	require.NoError(w, err)
	w.Cleanup(func() { require.NoError(w, c.Close(w.Context())) })
	update := func(f func(string) (string, error)) func() error {
		return func() error { return of(c.Update(w.Context(), f)) }
	}
	var typed *badCodec
	n, err := naming.New(w.s, "/n")
	require.NoError(w, err)
	over, err := naming.New(w.s, "/n")
	require.NoError(w, err)
	require.NoError(w, over.Close(w.Context()))
	bind := func(value []byte, opts ...naming.BindOption) func() error {
		return func() error { return n.Bind(w.Context(), "a", value, opts...) }
	}
	refused := errors.New("refused on purpose")
	rows := []row{
		{"group.Join: a closed group", join(gone, "a"), session.ErrClosed, "join /g: "},
		{"config.New: no codec", func() error { return of(config.New[string](w.s, "/c", nil)) }, nil, "codec: nil"},
		{"config.New: a codec that is a nil pointer", func() error { return of(config.New[string](w.s, "/c", typed)) }, nil, "codec: nil"},
		{"config.Open: no codec", func() error { return of(config.Open[string](w.Context(), w.s, "/c", nil)) }, nil, "codec: nil"},
		{"config.Update: no function", update(nil), nil, "f: nil"},
		{"config.Update: its error", update(func(string) (string, error) { return "", refused }), refused, "update /c: "},
		{"config.Update: no text", update(func(string) (string, error) { return "\xff", nil }), nil, "the new value: "},
		{
			"config.Update: too large", update(func(string) (string, error) { return string(large), nil }),
			session.ErrTooLarge, "the new value: ",
		},
		{"naming.List: no prefix", func() error { return of(n.List(w.Context(), "/a")) }, session.ErrInvalidPath, "prefix: "},
		{"naming.List: closed", func() error { return of(over.List(w.Context(), "")) }, session.ErrClosed, "names /n: closed"},
		{"naming.Lookup: closed", func() error { return of(over.Lookup(w.Context(), "a")) }, session.ErrClosed, "names /n: closed"},
		{"naming.Bind: closed", func() error { return over.Bind(w.Context(), "a", []byte("x")) }, session.ErrClosed, "names /n: closed"},
		{"naming.Unbind: closed", func() error { return over.Unbind(w.Context(), "a") }, session.ErrClosed, "names /n: closed"},
		{"naming.Bind: no value", bind(nil), nil, "value: empty"},
		{"naming.Bind: too large", bind(large), session.ErrTooLarge, "value: "},
		{"naming.Bind: a nil option", bind([]byte("x"), nil), nil, "opts[0]: nil"},
	}
	for id, says := range map[string]string{"": "empty", "a/b": "contains a slash", "..": "", "a\x00": ""} {
		rows = append(rows, row{fmt.Sprintf("group.Join: id %q", id), join(g, id), nil, "id: " + says})
	}
	for _, bad := range []string{"", "/a", "a/", "a//b", "a/../b", "a\x00"} {
		rows = append(rows,
			row{fmt.Sprintf("naming.Bind: %q", bad), func() error { return n.Bind(w.Context(), bad, []byte("x")) }, session.ErrInvalidPath, "name: "},
			row{fmt.Sprintf("naming.Unbind: %q", bad), func() error { return n.Unbind(w.Context(), bad) }, session.ErrInvalidPath, "name: "},
			row{fmt.Sprintf("naming.Lookup: %q", bad), func() error { return of(n.Lookup(w.Context(), bad)) }, session.ErrInvalidPath, "name: "})
	}
	return rows
}

// badCodec is a codec by reference.
type badCodec struct{}

func (c *badCodec) Encode(string) ([]byte, error) { return nil, nil }
func (c *badCodec) Decode([]byte) (string, error) { return "", nil }
