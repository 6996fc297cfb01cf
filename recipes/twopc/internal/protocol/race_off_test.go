//go:build !race

package protocol_test

const schedules = 4000
