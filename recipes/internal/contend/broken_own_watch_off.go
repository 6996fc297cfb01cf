//go:build !broken_own_watch

package contend

// ownUnwatched is false in every build but one with -tags broken_own_watch, which test/chaos has to
// catch: there, nobody watches the own znode.
const ownUnwatched = false
