// Package history has the events that workers of a chaos run write and its checks read: one a line,
// in JSON, each stamped with the machine's monotonic clock, so that events of different processes
// can be compared.
//
// An event is written with one system call when it happens. So a killed worker leaves all its
// events, and at most one torn line, which is left out.
package history
