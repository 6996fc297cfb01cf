// Package observe runs an observer, which turns changes in ZooKeeper into states for the
// application, as a supervised actor of a session.
//
// An observer receives states from channels, and results of calls. An actor must not block, so
// separate goroutines wait for them and pass them to the actor one at a time. A slow observer
// therefore slows its sources down, and its mailbox stays short.
//
// A panic in the observer, for example in a codec of the application, is logged with its stack. It
// restarts the observer after a pause: the observer subscribes again, and begins with the current
// state. Nothing else is affected. An observer that panics too often ends, which is logged.
package observe
