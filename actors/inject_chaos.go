//go:build chaos

package actors

import "sync/atomic"

var panics atomic.Int32

// Panic makes the next actor that receives a message panic. It exists only with -tags chaos, for
// test/chaos.
func Panic() { panics.Add(1) }

// inject panics if requested.
func inject() {
	for n := panics.Load(); n > 0; n = panics.Load() {
		if panics.CompareAndSwap(n, n-1) {
			panic("chaos")
		}
	}
}
