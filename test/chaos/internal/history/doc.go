// Package history is what workers of a chaos run write and what its checks read: one event a line,
// in JSON, each stamped with the machine's monotonic clock, so that events of different processes
// can be compared.
//
// An event is written with one system call when it happens. So a killed worker leaves everything
// that it had claimed, and at most one torn line, which is left out.
package history
