// Package waits has one table: what waits for the word of ZooKeeper, and the errors that pass by
// themselves. Whatever meets one, at whichever of its requests, is told in the end what it waits
// for, or says that it has ended, and why.
//
//	waits_test.go   what waits
//	errors_test.go  the errors
package waits_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/zktest"
)

// passing are the codes that pass by themselves: whoever waits is told in the end. refusals are
// about what is asked, and pass when somebody puts something right: what says so in the table of
// waits ends, with an Err that is the refusal, and the others wait on.
var (
	passing = map[string]zktest.Code{
		"throttled": jute.ThrottledOp, "connection loss": jute.ConnectionLoss, "operation timeout": jute.OperationTimeout,
		"request timeout": jute.RequestTimeout, "session moved": jute.SessionMoved, "session expired": jute.SessionExpired,
		"unknown session": jute.UnknownSession,
	}
	refusals = map[string]zktest.Code{
		"no right": jute.NoAuth, "quota exceeded": jute.QuotaExceeded, "read only": jute.NotReadOnly, "system error": jute.SystemError,
		"unimplemented": jute.Unimplemented, "invalid ACL": jute.InvalidACL,
	}
)

const (
	// lasts is for how long an error comes in one of the two ways; else it comes once.
	lasts = 20 * time.Second
	// recovers is how long it may take until what is waited for is told of, when the errors are
	// over. A queue passes over what was refused for a minute.
	recovers = time.Minute + time.Second
)

func TestAPassingErrorEndsNoWait(t *testing.T) {
	t.Parallel()
	slice := 0
	for _, codes := range []map[string]zktest.Code{passing, refusals} {
		for _, code := range slices.Sorted(maps.Keys(codes)) {
			for _, name := range slices.Sorted(maps.Keys(waits)) {
				for _, stretch := range []time.Duration{0, lasts} {
					if slice++; slice%inGate != 0 && !tier.Soaking() {
						continue
					}
					t.Run(fmt.Sprintf("%s/%s for %v", name, code, stretch), func(t *testing.T) {
						t.Parallel()
						_, may := refusals[code]
						for k, more := 1, true; more; k++ {
							bubble.Run(t, func(b *bubble.World) {
								w := &world{b, b.Host("mine").Session, b.Host("other").Session}
								more = w.outlasts(waits[name](w), k, codes[code], stretch, may)
							}, bubble.Brisk()...)
						}
					})
				}
			}
		}
	}
}

// inGate: so much less is in the gate than in the soak.
const inGate = 7

// outlasts has the k-th request of what waits fail, and all behind it for a stretch. It tells
// whether it came to that.
func (w *world) outlasts(what wait, k int, code zktest.Code, stretch time.Duration, mayEnd bool) (met bool) {
	time.Sleep(time.Second)
	synctest.Wait()
	var mu sync.Mutex
	var until time.Time
	n, other := 0, w.other.Status().SessionID
	w.Cleanup(w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
		mu.Lock()
		defer mu.Unlock()
		if r.SessionID == other || r.Op == zktest.OpPing || r.Op == zktest.OpConnect {
			return zktest.Pass
		}
		if n++; n == k {
			until = time.Now().Add(stretch)
		}
		if n == k || time.Now().Before(until) {
			return zktest.Fail(code)
		}
		return zktest.Pass
	}))
	told := what.begin()
	time.Sleep(5 * time.Second)
	what.cause()
	select {
	case <-told:
	case <-time.After(stretch + recovers):
		var err error
		if what.err != nil {
			err = what.err()
		}
		require.True(w, mayEnd && what.ends && err != nil, "request %d: it waits for ever, or has ended: %v\n%s", k, err, w.Server.Dump())
	}
	mu.Lock()
	defer mu.Unlock()
	return n >= k
}

// Every method that returns a channel is in the table, or asks nothing.
func TestEveryWaitIsInTheTable(t *testing.T) {
	t.Parallel()
	tested := make(map[string]bool)
	for name := range waits {
		for _, method := range methods(name) {
			tested[method] = true
		}
	}
	for _, name := range channels(t) {
		_, nothing := asksNothing[name]
		require.NotEqual(t, tested[name], nothing, "%s: a row, or a reason why it needs none", name)
	}
}

// channels are the exported methods that return a channel.
func channels(t *testing.T) (names []string) {
	for _, pattern := range []string{"actors/*.go", "session/*.go", "recipe/*.go", "recipes/[a-z]*/*.go", "fxmodule/*.go"} {
		files, err := filepath.Glob("../../" + pattern)
		require.NoError(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "../../recipes/internal/") {
				continue
			}
			tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			require.NoError(t, err)
			for _, d := range tree.Decls {
				f, is := d.(*ast.FuncDecl)
				if !is || f.Recv == nil || !f.Name.IsExported() || f.Type.Results == nil {
					continue
				}
				_, channel := f.Type.Results.List[0].Type.(*ast.ChanType)
				if of := receiver(f.Recv.List[0].Type); channel && ast.IsExported(of) {
					names = append(names, filepath.Base(filepath.Dir(file))+"."+of+"."+f.Name.Name)
				}
			}
		}
	}
	require.Greater(t, len(names), 40)
	return names
}

func receiver(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.StarExpr:
		return receiver(of.X)
	case *ast.IndexExpr:
		return receiver(of.X)
	case *ast.Ident:
		return of.Name
	}
	return ""
}
