//go:build !chaos

package actors

// inject does nothing but in builds with -tags chaos, where test/chaos has actors panic.
func inject() {}
