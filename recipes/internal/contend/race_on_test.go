//go:build race

package contend_test

// affordable is fewer when every access is checked for races, of which a machine has none by
// itself.
const affordable = 5_000
