//go:build !race

package contend_test

// affordable is how many schedules a few seconds have room for.
const affordable = 50_000
