// Package bubble has the helpers that the tests of several packages share: a bubble of virtual time
// with a server in memory and the sessions on it, waits that have a bound, and the faults that more
// than one package draws. Only tests import it.
//
//	bubble.Run(t, func(w *bubble.World) {
//		h := w.Host("a")
//		l, err := lock.New(h.Session, "/locks/orders")
//		require.NoError(w, err)
//		l.Acquire()
//		g := bubble.Within(w, time.Second, l.Acquired())
//		h.Machine.Partition()
//		bubble.Within(w, 6*time.Second, g.Done())
//	})
//
// World is the harness of the recipes' tests. A package adds functions that take one; only tests
// with a state of their own embed it.
//
// At the end of a bubble its sessions and its server are closed, and every goroutine that was
// started in it has to have ended: otherwise package synctest fails the test. Goroutines that a
// test leaves outside of bubbles are found by goleak.VerifyTestMain, in the package's TestMain.
//
// # Which file for which task
//
//   - world.go, wait.go: the bubble, its sessions and machines; waits for channels, of which Now, Never
//     and Closed need a bubble, and the others do on real servers too
//   - fault.go: requests that are lost or slow; log.go: what a session logs
//   - suite.go: tests that run on the embedded server and on real ones; margin.go: real clocks
//   - cost.go: settings of the process
package bubble
