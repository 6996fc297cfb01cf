//go:build !broken_ack

package queue

// confirmsLost is false in every build but one with -tags broken_ack, which test/chaos has to
// catch: there, the acknowledgement of an item that goes back is confirmed.
const confirmsLost = false
