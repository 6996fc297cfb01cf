//go:build broken_ack

package queue

// confirmsLost breaks this build on purpose: see broken_ack_off.go.
const confirmsLost = true
