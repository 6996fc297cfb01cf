package docs_test

// The code in the heads of packages, as go doc prints it. Each function is run by a test below.

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/debug"
	"github.com/troupe-go/troupe/fxmodule"
	"github.com/troupe-go/troupe/health"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/recipes/config"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/group"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/recipes/naming"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
	"github.com/troupe-go/troupe/zktest/ensemble"
	"github.com/troupe-go/troupe/zktest/zksession"
)

// TestCodeInHeadsIsCompiled: the code in each package's head is, but for its spaces and where a
// line is "…", part of one Go file.
func TestCodeInHeadsIsCompiled(t *testing.T) {
	t.Parallel()
	var sources [][]string
	heads := map[string]string{}
	for _, file := range files(t, ".go") {
		text := read(t, file)
		sources = append(sources, spaced(text))
		if parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.PackageClauseOnly|parser.ParseComments); err == nil && parsed.Doc != nil {
			heads[file] = strings.TrimSuffix(parsed.Doc.Text(), "\n")
		}
	}
	found := 0
	for file, head := range heads {
		for _, block := range codeBlocks(head) {
			found++
			assert.True(t, slices.ContainsFunc(sources, func(source []string) bool { return containsAll(source, block) }),
				"%s: nobody compiles this:\n%s", file, strings.Join(block, "\n"))
		}
	}
	require.Greater(t, found, 15)
}

// codeBlocks are the indented blocks of a text that are Go, or look as if they were to be.
func codeBlocks(text string) (all [][]string) {
	var block []string
	for _, line := range append(strings.Split(text, "\n"), "end") {
		if strings.HasPrefix(line, "\t") || line == "" && len(block) > 0 {
			block = append(block, line)
			continue
		}
		if code := strings.Join(block, "\n"); code != "" && (strings.Contains(code, ":=") || isGo(code)) {
			all = append(all, spaced(strings.TrimSpace(code)))
		}
		block = nil
	}
	return all
}

// isGo tells whether a text is Go that does something: statements with a call, or an import.
func isGo(code string) bool {
	code = strings.ReplaceAll(code, "…", "")
	if _, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+code, 0); err == nil {
		return true
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f() {\n"+code+"\n}", 0)
	calls := false
	if err == nil {
		ast.Inspect(parsed, func(n ast.Node) bool {
			_, is := n.(*ast.CallExpr)
			calls = calls || is
			return true
		})
	}
	return calls
}

// spaced are the lines of a text with single spaces.
func spaced(text string) []string {
	all := lines(text)
	for i := range all {
		all[i] = strings.Join(strings.Fields(all[i]), " ")
	}
	return all
}

// containsAll tells whether a source has the parts of a block, which dots and empty lines part, in
// their order.
func containsAll(source, block []string) bool {
	var part []string
	for _, line := range append(slices.Clone(block), "…") {
		if line != "…" && line != "" {
			part = append(part, line)
			continue
		}
		for !(len(part) <= len(source) && slices.Equal(source[:len(part)], part)) {
			if len(source) == 0 {
				return false
			}
			source = source[1:]
		}
		source, part = source[len(part):], nil
	}
	return true
}

// That of package lock.
func headOfLock(ctx context.Context, sess *session.Session, work func(ctx context.Context, token int64) error) error {
	orders, err := lock.New(sess, "/locks/orders")
	if err != nil {
		return err
	}
	err = orders.Do(ctx, func(ctx context.Context, grant *lock.Grant) error {
		return work(ctx, grant.Token()) // the lock is held; ctx ends with it
	})
	// Or as a standing intent: orders.Acquire(), and in a select loop <-orders.Acquired().
	return err
}

// That of package election.
func headOfElection(ctx context.Context, sess *session.Session, serve func(ctx context.Context, token int64) error) error {
	leader, err := election.New(sess, "/services/billing/leader")
	if err != nil {
		return err
	}
	err = leader.Run(ctx, func(ctx context.Context, term *election.Term) error {
		return serve(ctx, term.Token()) // this process leads; ctx ends with the term
	})
	return err
}

// That of package barrier: of one, and of a double one.
func headOfBarrier(ctx context.Context, sess *session.Session, compute func(ctx context.Context)) error {
	gate, err := barrier.New(sess, "/gates/migration")
	if err != nil {
		return err
	}
	err = gate.Raise(ctx) // from now on Wait blocks
	if err != nil {
		return err
	}
	err = gate.Lower(ctx) // and now it returns
	if err != nil {
		return err
	}

	work, err := barrier.NewDouble(sess, "/rounds/batch", 3)
	if err != nil {
		return err
	}
	passage, err := work.Enter(ctx) // returns when three have arrived
	compute(passage.Context())
	err = passage.Leave(ctx) // returns when all three are done
	return err
}

// That with which docs/recipes/double-barrier.md begins.
func step(ctx context.Context, sess *session.Session, parties int, name string, compute func(ctx context.Context)) error {
	step, err := barrier.NewDouble(sess, "/steps", parties, barrier.WithName(name))
	if err != nil {
		return err
	}
	passage, err := step.Enter(ctx) // returns when all have arrived
	if err != nil {
		return err
	}
	compute(passage.Context()) // which ends if this party is lost
	return passage.Leave(ctx)  // returns when all are done
}

// Limits are the value of package config's head.
type Limits struct {
	Rate int `json:"rate"`
}

// That of package config.
func headOfConfig(ctx context.Context, sess *session.Session) (int, error) {
	limits, err := config.Open(ctx, sess, "/app/limits", config.JSON[Limits]())
	if err != nil {
		return 0, err
	}
	defer limits.Close(ctx)
	rate := limits.Load().Value.Rate // from memory
	states := limits.Observe(ctx)    // the current state, then each newer one
	s, err := limits.Await(ctx)      // the rendezvous: waits for a first valid value
	s, err = limits.Update(ctx, func(l Limits) (Limits, error) { return Limits{Rate: 2 * l.Rate}, nil })
	<-states
	return rate + s.Value.Rate, err
}

// That of package group.
func headOfGroup(ctx context.Context, sess *session.Session, hostname string, address []byte, rebalance func(members []group.Member)) error {
	workers, err := group.New(sess, "/groups/workers")
	if err != nil {
		return err
	}
	me, err := workers.Join(group.Member{Name: hostname, Data: address}) // the intent: be a member, in every epoch
	if err != nil {
		return err
	}
	for view := range workers.Observe(ctx) {
		rebalance(view.Members)
	}
	return me.Err()
}

// That of package naming.
func headOfNaming(ctx context.Context, sess *session.Session) ([]string, error) {
	names, err := naming.New(sess, "/names")
	if err != nil {
		return nil, err
	}
	err = names.Bind(ctx, "db/orders/primary", []byte("10.0.0.7:5432"))
	b, err := names.Lookup(ctx, "db/orders/primary")
	bindings := names.Observe(ctx, "db/orders/primary") // the current binding, then each newer one
	all, err := names.List(ctx, "db")                   // db/orders/primary, db/orders/replica, …
	found := []string{string(b.Value), string((<-bindings).Value)}
	for _, b := range all {
		found = append(found, b.Name)
	}
	return found, err
}

// That of package queue.
func headOfQueue(ctx context.Context, sess *session.Session, work func(ctx context.Context, data []byte) error) error {
	orders, err := queue.New(sess, "/queues/orders")
	if err != nil {
		return err
	}
	id, err := orders.Put(ctx, []byte("…"), queue.WithHeader("content-type", "application/json"))
	if err != nil || id == "" {
		return err
	}
	consumer, err := orders.Consume(queue.WithWorkers(4))
	for item := range consumer.Items() { // in four goroutines
		if err := work(item.Context(), item.Data()); err != nil {
			item.Nack(ctx) // after a pause it is delivered again
			continue
		}
		item.Ack(ctx) // done: it is deleted
	}
	return consumer.Err()
}

// That of package twopc, with the votes and the decision.
func headOfTwoPC(ctx context.Context, transfers *twopc.Coordinator, ledger *twopc.Site, order []byte) (twopc.Outcome, error) {
	tx, err := transfers.Begin(ctx, "t-4711", order, "ledger", "stock") // of a Coordinator
	if err != nil {
		return twopc.Undecided, err
	}
	p := <-ledger.Proposals() // of a Site: p.VoteCommit or p.VoteAbort, then p.Decided and p.Ack
	if err := p.VoteAbort(ctx, "no money"); err != nil {
		return twopc.Undecided, err
	}
	<-tx.Done()
	return tx.Outcome(), nil
}

// That of package session.
func headOfSession(ctx context.Context) error {
	s, err := session.Open(ctx, []string{"zk1:2181", "zk2:2181"}, session.WithNamespace("/billing"))
	if err != nil {
		return err
	}
	defer session.CloseWithin(s, 5*time.Second) // ctx may have ended by then
	data, stat, err := s.Get(ctx, "/rates")
	states := s.WatchData(ctx, "/rates") // the current state, then each newer one
	<-states
	_, _ = data, stat
	return err
}

// That of package fxmodule. Without servers of these names it can be built, not run.
func headOfFx(report func(ctx context.Context, term *election.Term) error) error {
	app := fx.New( // and then app.Run()
		fxmodule.Module,
		fx.Supply(fxmodule.Default("zk1:2181", "zk2:2181", "zk3:2181")),
		fxmodule.Election("reports", "/elections/reports"),
		fxmodule.RunLeader("reports", report), // func report(ctx context.Context, term *election.Term) error
	)
	return app.Err()
}

// That of package health.
func headOfHealth(mux *http.ServeMux, sess *session.Session, candidate *election.Election) {
	mux.Handle("/ready", health.Ready(sess, health.WithGrace(30*time.Second)))
	mux.Handle("/live", health.Live(sess))
	mux.Handle("/leading", health.Leading(candidate))
}

// That of package debug.
func headOfDebug(mux *http.ServeMux, sess *session.Session) {
	mux.Handle("/debug/troupe/", debug.Handler(sess))
}

// That of package actors: message, increment and counter are the reader's own.
type message interface{ isMessage() }

type increment struct{}

func (increment) isMessage() {}

type counter struct{ self actors.Self[message] }

func (c *counter) Receive(message) { c.self.Ref().Stop() }

func headOfActors(system *actors.System) error {
	ref, err := actors.Spawn(system.Scope(), actors.Spec[message]{
		Name: "orders", Kind: "counter",
		New: func(self actors.Self[message]) actors.Receiver[message] { return &counter{self: self} },
	})
	ref.Tell(increment{})
	if err != nil {
		return err
	}
	<-ref.Done()
	return nil
}

// Service is the reader's own in package zktest's head.
type Service struct{ *session.Session }

func (s Service) SessionID() int64 { return s.Status().SessionID }

func TestTheHeadOfZktest(t *testing.T) {
	t.Parallel()
	Start := func(servers []string) Service { return Service{bubble.Open(t, servers)} }
	server := zktest.Start(t)          // closed with the test
	service := Start(server.Servers()) // yours, over TCP on 127.0.0.1
	first := service.SessionID()
	server.Expire(service.SessionID()) // and now?
	require.NoError(t, service.EnsurePath(bubble.Minute(t), "/a"))
	require.NotEqual(t, first, service.SessionID())
}

// That of package ensemble, for tests that are to be skipped where ZooKeeper is missing.
func skipWithoutZooKeeper(t interface{ Skip(args ...any) }) {
	if err := ensemble.Available(); err != nil {
		t.Skip(err)
	}
}

// required fails where others are skipped: in the tier of real servers none may be missing.
type required struct{ *testing.T }

func (t required) Skip(args ...any) { t.Fatal(args...) }

func TestTheHeadOfEnsemble(t *testing.T) {
	tier.Real(t)
	skipWithoutZooKeeper(required{t})
	ctx := bubble.Minute(t)
	servers := ensemble.Start(t, 3) // three servers that have elected a leader
	sess, err := session.New(servers.Servers())
	leader, err := servers.AwaitLeader(ctx)
	heal := servers.Isolate(leader) // it loses its followers; its clients are still served, for a while
	heal()
	require.NoError(t, err)
	defer sess.Close(ctx)
	require.NoError(t, sess.Connect(ctx))
}

func TestTheHeadOfBubble(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(w *bubble.World) {
		h := w.Host("a")
		l, err := lock.New(h.Session, "/locks/orders")
		require.NoError(w, err)
		l.Acquire()
		g := bubble.Within(w, time.Second, l.Acquired())
		h.Machine.Partition()
		bubble.Within(w, 6*time.Second, g.Done())
	})
}

// TestTheHeadsOfPackages runs the others.
func TestTheHeadsOfPackages(t *testing.T) {
	t.Parallel()
	for name, head := range map[string]func(ctx context.Context, t *testing.T, sess *session.Session){
		"lock": func(ctx context.Context, t *testing.T, sess *session.Session) {
			err := headOfLock(ctx, sess, func(context.Context, int64) error { return errEnough })
			require.ErrorIs(t, err, errEnough)
		},
		"election": func(ctx context.Context, t *testing.T, sess *session.Session) {
			err := headOfElection(ctx, sess, func(context.Context, int64) error { return errEnough })
			require.ErrorIs(t, err, errEnough)
		},
		"barrier": func(ctx context.Context, t *testing.T, sess *session.Session) {
			entered, done := make(chan bool, 3), make(chan error, 3)
			for range 3 {
				go func() { // ends with the round
					done <- headOfBarrier(ctx, sess, func(context.Context) { entered <- true })
				}()
			}
			for range 3 {
				require.NoError(t, bubble.Get(t, done))
			}
			require.Len(t, entered, 3)
		},
		"step": func(ctx context.Context, t *testing.T, sess *session.Session) {
			computed := false
			require.NoError(t, step(ctx, sess, 1, "a", func(context.Context) { computed = true }))
			require.True(t, computed)
		},
		"config": func(ctx context.Context, t *testing.T, sess *session.Session) {
			_, err := sess.Create(ctx, "/app/limits", []byte(`{"rate": 10}`), session.Parents())
			require.NoError(t, err)
			sum, err := headOfConfig(ctx, sess)
			require.NoError(t, err)
			require.Equal(t, 10+20, sum)
		},
		"group": func(ctx context.Context, t *testing.T, sess *session.Session) {
			ctx, cancel := context.WithCancel(ctx)
			err := headOfGroup(ctx, sess, "host-1", []byte("10.0.0.7"), func(members []group.Member) {
				if len(members) == 1 && members[0].Name == "host-1" {
					cancel()
				}
			})
			require.NoError(t, err)
			require.Error(t, ctx.Err())
		},
		"naming": func(ctx context.Context, t *testing.T, sess *session.Session) {
			found, err := headOfNaming(ctx, sess)
			require.NoError(t, err)
			require.Equal(t, []string{"10.0.0.7:5432", "10.0.0.7:5432", "db/orders/primary"}, found)
		},
		"queue": func(ctx context.Context, t *testing.T, sess *session.Session) {
			tries := 0
			err := headOfQueue(ctx, sess, func(context.Context, []byte) error {
				if tries++; tries == 1 {
					return errEnough // and once more
				}
				time.AfterFunc(time.Second, func() { session.CloseWithin(sess, time.Second) })
				return nil
			})
			require.ErrorIs(t, err, session.ErrClosed)
			require.Equal(t, 2, tries)
		},
		"twopc": func(ctx context.Context, t *testing.T, sess *session.Session) {
			transfers, err := twopc.NewCoordinator(sess, "/transfers")
			require.NoError(t, err)
			ledger, err := twopc.NewSite(sess, "/transfers", "ledger")
			require.NoError(t, err)
			outcome, err := headOfTwoPC(ctx, transfers, ledger, nil)
			require.NoError(t, err)
			require.Equal(t, twopc.Aborted, outcome)
		},
		"session": func(ctx context.Context, t *testing.T, _ *session.Session) {
			ctx, cancel := context.WithCancel(ctx)
			cancel() // there are no such servers
			require.ErrorIs(t, headOfSession(ctx), context.Canceled)
		},
		"fxmodule": func(_ context.Context, t *testing.T, _ *session.Session) {
			require.NoError(t, headOfFx(func(context.Context, *election.Term) error { return nil }))
		},
		"health": func(_ context.Context, t *testing.T, sess *session.Session) {
			mux := http.NewServeMux()
			candidate, err := election.New(sess, "/leader")
			require.NoError(t, err)
			headOfHealth(mux, sess, candidate)
			for path, code := range map[string]int{"/ready": http.StatusOK, "/live": http.StatusOK, "/leading": http.StatusServiceUnavailable} {
				w := httptest.NewRecorder()
				mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
				require.Equal(t, code, w.Code, path)
			}
		},
		"debug": func(_ context.Context, t *testing.T, sess *session.Session) {
			mux := http.NewServeMux()
			headOfDebug(mux, sess)
			w := httptest.NewRecorder()
			mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/debug/troupe/", nil))
			require.Contains(t, w.Body.String(), "<h2>Session 0x")
		},
		"actors": func(ctx context.Context, t *testing.T, _ *session.Session) {
			system, _ := actors.New()
			require.NoError(t, headOfActors(system)) // which returns when the actor has received
			require.NoError(t, system.Close(ctx))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { head(t.Context(), t, zksession.Open(t, zktest.Start(t))) })
		})
	}
}
