// Package bubble is what the tests of several packages share: a bubble of virtual time with a
// server in memory and the sessions on it, waits that have a bound, and the faults that more than
// one package draws. Only tests import it.
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
// A package whose tests need more embeds a World in a type of its own.
//
// At the end of a bubble its sessions and its server are closed, and every goroutine that was
// started in it has to be over: otherwise package synctest fails the test. What a test leaves
// outside of bubbles is found by goleak.VerifyTestMain, in the package's TestMain.
package bubble
