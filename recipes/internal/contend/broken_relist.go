//go:build broken_relist

package contend

// neverLooksAgain breaks this build on purpose: see broken_relist_off.go.
const neverLooksAgain = true
