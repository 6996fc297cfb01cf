// Package observe runs what observes something, and turns it into states for the application, as a
// supervised actor of a session.
//
// Such an observation takes states from channels and answers from calls. Nothing may block in an
// actor, so goroutines of its own wait for both and pass them on, one at a time each: a slow
// observation keeps what feeds it waiting, and its mailbox short.
//
// A panic in it, in a codec of the application say, is logged with its stack and restarts it after
// a pause: it subscribes anew, and begins with the present state. Nothing else is touched. One that
// panics too often is given up, which is logged, and ends.
package observe
