//go:build chaos

package actors

import "sync/atomic"

var panics atomic.Int32

// Panic lets the next actor that receives a message panic, whichever that is. It exists with -tags
// chaos alone, for test/chaos.
func Panic() { panics.Add(1) }

// inject panics if it was asked for.
func inject() {
	for n := panics.Load(); n > 0; n = panics.Load() {
		if panics.CompareAndSwap(n, n-1) {
			panic("chaos")
		}
	}
}
