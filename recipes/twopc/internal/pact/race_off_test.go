//go:build !race

package pact_test

const schedules = 4000
