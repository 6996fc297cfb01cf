//go:build !race

package double_test

// affordable is how many random schedules every run of the tests makes.
const affordable = 4000
