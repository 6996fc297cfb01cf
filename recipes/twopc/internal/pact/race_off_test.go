//go:build !race

package pact_test

const schedules = 1200
