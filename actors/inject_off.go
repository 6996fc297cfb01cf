//go:build !chaos

package actors

// inject does nothing except in builds with -tags chaos, where test/chaos makes actors panic.
func inject() {}
