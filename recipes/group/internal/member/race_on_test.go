//go:build race

package member_test

// affordable is how many random schedules every run of the tests makes: fewer under the race
// detector, of which a machine has no need.
const affordable = 400
