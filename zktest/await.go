package zktest

import (
	"context"
	"fmt"
	"slices"

	"github.com/troupe-go/troupe/internal/zkserver/tree"
)

// Await waits until there is a znode at the path. If the context or the server ends before, the
// test fails. So it does in the other waits, and says what there is instead.
//
// A wait ends at the transaction that makes the server's state as asked: nothing is polled, and in
// a testing/synctest bubble no real time passes. Clients may not have heard of it yet.
func (z Znodes) Await(ctx context.Context, path string) {
	z.test.Helper()
	z.await(ctx, fmt.Sprintf("Await %q", path), path, 1, func(t *tree.Tree, _ int) int {
		if t.Get(path) == nil {
			return 0
		}
		return 1
	})
}

// AwaitChildren waits until a znode has n children. One that does not exist has none.
func (z Znodes) AwaitChildren(ctx context.Context, path string, n int) {
	z.test.Helper()
	z.await(ctx, fmt.Sprintf("AwaitChildren %q, %d", path, n), path, n, func(t *tree.Tree, _ int) int {
		if parent := t.Get(path); parent != nil {
			return parent.NumChildren()
		}
		return 0
	})
}

// AwaitSessions waits until there are n sessions, connected or not.
func (z Znodes) AwaitSessions(ctx context.Context, n int) {
	z.test.Helper()
	z.await(ctx, fmt.Sprintf("AwaitSessions %d", n), "/", n, func(_ *tree.Tree, sessions int) int { return sessions })
}

// await waits until count is n.
func (z Znodes) await(ctx context.Context, what, path string, n int, count func(t *tree.Tree, sessions int) int) {
	z.test.Helper()
	if !tree.Valid(path) || n < 0 {
		z.test.Fatalf("zktest: %s: not a path, or a negative number", what)
	}
	last := 0
	err := z.admin.Await(ctx, func(t *tree.Tree, sessions int) bool {
		last = count(t, sessions)
		return last == n
	})
	if err != nil {
		z.test.Fatalf("zktest: %s: %v: there are %d\n%s", what, err, last, shownOf(z.server))
	}
}

// CheckData fails the test unless a znode has these data.
func (z Znodes) CheckData(path, want string) {
	z.test.Helper()
	have, err := z.Get(path)
	z.check(err, string(have) == want, "data of %q: %q, not %q", path, have, want)
}

// CheckChildren fails the test unless a znode has just the children with these names, in any order.
func (z Znodes) CheckChildren(path string, want ...string) {
	z.test.Helper()
	have, err := z.Children(path)
	want = slices.Sorted(slices.Values(want))
	z.check(err, slices.Equal(have, want), "children of %q: %q, not %q", path, have, want)
}

// CheckAbsent fails the test if there is a znode at the path.
func (z Znodes) CheckAbsent(path string) {
	z.test.Helper()
	z.check(nil, !z.Exists(path), "%q exists", path)
}

func (z Znodes) check(err error, ok bool, format string, args ...any) {
	z.test.Helper()
	if err != nil {
		format, args, ok = "%v", []any{err}, false
	}
	if !ok {
		z.test.Fatalf("zktest: "+format, args...)
	}
}
