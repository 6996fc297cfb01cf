// Package fence lets others check a possession: a service that is asked to act for "the holder of
// the lock" or "the leader", and wants to know whether whoever asks still is.
//
// A [Sequencer] is a possession as a value: which znode, held how, with which token, by which
// session. The holder gets it from his grant or term and sends it along with his requests, as a
// string. Whoever receives it has three ways to look at it:
//
//	                                    asks ZooKeeper   refuses
//	Check(ctx, s, q)   for one request       yes         a possession that is over at this moment
//	Follow(ctx, s, q)  for a conversation    watches     by cancelling a context, soon after the possession is over
//	Gate.Admit(q)      for a resource        no          whoever comes behind a newer holder that was admitted
//
// # What it guarantees
//
//   - Check answers nil only if the possession's znode stood, and was that possession's, at an
//     instant after the call.
//   - The context of Follow ends with the cause [ErrFenced] once the following session has heard
//     that the znode is gone.
//   - A Gate that has admitted a token never again admits a smaller one.
//
// # What it does not
//
// Only the Gate is a fence by itself, since it stands where the effects are. Between a Check and
// the act that follows it the possession may end; a following session that is cut off hears
// nothing. Where the resource can keep the largest token it has seen, and refuse smaller ones in
// the same step as it writes, do that: a Gate in the resource's own process, a column in its row.
//
// A process whose znode stands may have lost its possession by its own clocks already (see package
// session on trust): Check then still says yes, and nobody else holds the thing.
//
// # Failure
//
//	the possession was released, lost, deleted   Check: ErrFenced. Follow: cancelled with ErrFenced
//	the checking session is disconnected         Check: waits, within ctx. Follow: stays open, and is told after the reconnection
//	the checking session expired                 the same: it watches again in its next epoch
//	the checking session is closed               Check: session.ErrClosed. Follow: cancelled with session.ErrClosed
//	the Gate's process restarts                  it has forgotten its mark: admit the last admitted sequencer first, see Gate.Highest
//	the ensemble was rebuilt from nothing        tokens start again: the marks must be dropped
package fence
