package consume

// purpose is why something was asked.
type purpose int

const (
	preparing  purpose = iota + 1 // the znodes that a queue always has
	signing                       // the own journal is being made
	checking                      // whether it was
	guarding                      // the own ephemeral znode, which guards the possessions
	joining                       // a place in line
	lining                        // the line is being listed
	following                     // the one ahead
	looking                       // the buckets
	scanning                      // a bucket
	collecting                    // what came back
	counting                      // the journals
	calling                       // the consumers that live
	measuring                     // the cursor
	finding                       // the name of a claimed znode
	reading                       // a claimed znode
	writing                       // the transaction
	resolving                     // whether it was carried out
	opening                       // a dead consumer's journal
	inheriting                    // takes it over
	vetting                       // whether a consumer's znode is ephemeral
	removing                      // what says that the consumer lives, under a former tag
	pausing                       // before something that was refused is tried again
	judging                       // the window is too large, if this comes
	expiring                      // an item is overdue
	waiting                       // for something that is due
	idling                        // as long as there is nothing to do
	filling                       // as long as there is no room
	lying                         // as long as what was handed out may wait for its receiver, and count as an attempt
	hoarding                      // as long as there is more than is needed
	starving                      // before others are asked for what they do not need
	surveying                     // their journals
	asking                        // one of them
	retrying                      // what could not be read
	digging                       // the buckets of the dead letters
	grieving                      // before dead letters that could not be written are tried again
	rooming                       // how much room there is
	fetching                      // an item that is due
	moving                        // moves some
	clearing                      // deletes or seals a bucket
	sweeping                      // a bucket up to the cursor
	resting                       // until the next sweep
	auditing                      // what nobody names
	returning                     // and returns it
)

// key names a pending request.
type key struct {
	purpose purpose
	at      string // what it is about
}
