// Package fence checks possessions from outside: a service that is asked to act for "the holder of
// the lock" or "the leader" can check that the caller still is.
//
// A [Sequencer] describes a possession as a value: the znode, the mode, the token and the session.
// The holder gets it from its grant or term and sends it along with its requests, as a string. The
// receiver has three ways to check it:
//
//	                                      asks ZooKeeper   refuses
//	Check(ctx, s, q)   for one request         yes         a possession that is over at this moment
//	Follow(ctx, s, q)  for a longer operation  watches     by cancelling a context, soon after the possession is over
//	Gate.Admit(q)      for a resource          no          a holder older than one that was admitted
//
// # What it guarantees
//
//   - Check returns nil only if the possession's znode existed, and was that possession's, at an
//     instant after the call.
//   - The context of Follow ends with the cause [ErrFenced] once the following session has learned
//     that the znode is gone.
//   - A Gate that has admitted a token never admits a smaller one again.
//
// # What it does not guarantee
//
// Only the Gate is a fence by itself, since it is where the effects happen. Between a Check and the
// action that follows it the possession may end, and a following session that is disconnected
// learns nothing. If the resource can store the largest token it has seen, and refuse smaller ones
// in the same step as it writes, do that: a Gate in the resource's own process, or a column in its
// row.
//
// A process whose znode still exists may already have lost its possession by its own clocks (see
// package session on trust). Check then still succeeds; no other process has the possession.
//
// # Failure
//
//	the possession was released, lost, deleted   Check: ErrFenced. Follow: cancelled with ErrFenced
//	the checking session is disconnected         Check: waits, within ctx. Follow: stays open, and learns of the end after the reconnection
//	the checking session expired                 the same: it watches again in its next epoch
//	the checking session is closed               Check: session.ErrClosed. Follow: cancelled with session.ErrClosed
//	the Gate's process restarts                  it has lost its state: admit the last admitted sequencer first, see Gate.Highest
//	the ensemble has lost its data               call Gate.Reset, and reset stored tokens
package fence
