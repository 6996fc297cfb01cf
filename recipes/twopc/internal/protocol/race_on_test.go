//go:build race

package protocol_test

// schedules are fewer when every access is checked for races, of which a machine has none by
// itself.
const schedules = 200
