//go:build broken_own_watch

package contend

// ownUnwatched breaks this build on purpose: see broken_own_watch_off.go.
const ownUnwatched = true
