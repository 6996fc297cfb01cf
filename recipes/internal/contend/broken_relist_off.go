//go:build !broken_relist

package contend

// neverLooksAgain is false in every build but one with -tags broken_relist, which test/chaos has to
// catch: there, a contender whose predecessor goes takes itself for the first without another look.
const neverLooksAgain = false
