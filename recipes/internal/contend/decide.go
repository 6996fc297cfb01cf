package contend

// May the machine hold, and may it wait? Both are decided here, by what is known of those ahead of
// the own znode and of the own znode itself. Whoever hears of something new changes one of the two,
// and asks.
//
// What decides beside them:
//
//   - Trust in the session, and the host's refusal of a grant: they pass, and the place is kept
//     (first).
//   - A delay, which lets nobody hold whose token is not in the record (delay.passes).
//   - A downgrade, which goes on with a possession (onDowngraded).
//   - Whose the one znode at a path is, which the reply to the create or a read tells (single).
//   - Whether a Try is refused (conclude, decide, occupied).
//   - Who is ahead: by number or by Czxid (arrange, order), by the rule, or by weights (decide).
//   - Looking ahead, which saves a listing and decides nothing (Woke).
//   - What the semaphore's transaction checks (write), of which the mark is the result.

// ahead is what is known of the contenders that the own znode has to wait for.
type ahead int

const (
	unknown  ahead = iota // nothing: there is no listing to go by
	some                  // there is a predecessor, and there may be others, or what it leaves in its place
	only                  // there is the predecessor alone, and it leaves nothing
	none                  // a listing showed nobody
	released              // the last one ahead has gone since: it was deleted, or has released what it held alone
	marked                // a transaction marked the own znode as a holder's
)

// doubted is what is left of it where a listing may have missed something, or after a lost
// connection (listing.disconnected): then the predecessor's end may be told before the own znode's.
func (a ahead) doubted() ahead {
	if a == some || a == only {
		return some
	}
	return unknown
}

// gone is what is known once the predecessor's znode was deleted.
func (a ahead) gone() ahead {
	if a == only {
		return released
	}
	return unknown
}

// proof is how it is known that the own znode exists, with this session as its owner.
type proof int

const (
	unproven proof = iota
	told           // a reply told it: to its create, or to the transaction that marked it
	watched        // a read found it, and its watch has not fired since
)

// proof of the own znode.
func (m *Machine) proof() proof {
	switch {
	case m.watches.armed(m.entry.path):
		return watched
	case m.entry.unread:
		return told
	}
	return unproven
}

// mayHold tells whether the own znode may be granted. Where a listing or the transaction showed it,
// a reply is proof enough: its watch is set beside the grant. Where only the end of another znode
// was heard of since the listing, the own one may have been deleted before that: it must be
// watched, so that its end would have been told first.
func mayHold(a ahead, p proof) bool {
	switch a {
	case none, marked:
		return p >= told
	case released:
		return p == watched
	}
	return false
}

// mayWait tells whether the own znode may wait for its predecessor, which is watched. It has to be
// watched too, unless lists is true: there will be another listing before the grant, and it shows
// whether the znode exists, since nobody else's can have its name.
func mayWait(a ahead, p proof, lists bool) bool {
	switch a {
	case some:
		return p == watched || p == told && lists
	case only:
		return p == watched
	}
	return false
}
