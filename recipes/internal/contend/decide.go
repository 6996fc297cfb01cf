package contend

// May the machine hold, and may it wait? Two functions decide that here, by two values: ahead and
// proof. The handler of each event updates one of these, and asks the functions.
//
// Not decided here:
//
//   - Trust in the session, and the host's refusal of a grant: they pass, and the place is kept
//     (first).
//   - A delay, which allows a grant only if the token is in the record (delay.passes).
//   - A downgrade, which goes on with a possession (onDowngraded).
//   - Which session owns the one znode at a path: the reply to the create or a read tells (single).
//   - Whether a Try is refused (conclude, decide, occupied).
//   - Which contenders are ahead: by number or by Czxid (arrange, order), by the rule, or by weights
//     (decide).
//   - Looking ahead, which only saves a listing (Woke).
//   - The checks in the semaphore's transaction, whose result is the mark (write).

// ahead is what is known of the contenders that the own znode has to wait for.
type ahead int

const (
	unknown  ahead = iota // nothing: there is no listing to go by
	some                  // a predecessor; there may be others, or its end may leave another
	only                  // the predecessor alone, and its end leaves no other
	none                  // none: a listing showed it
	released              // none any more: since a listing the last one was deleted, or released what it held alone
	marked                // none: a transaction marked the own znode as a holder's
)

// doubted lowers it where a listing may have missed a contender, or after a lost connection
// (listing.disconnected): then the predecessor's end may be told before the own znode's.
func (a ahead) doubted() ahead {
	if a == some || a == only {
		return some
	}
	return unknown
}

// gone is what is known when the predecessor's znode was deleted.
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

// mayHold tells whether the own znode may be granted. If a listing or the transaction showed it, a
// reply is proof enough: its watch is set beside the grant. If the end of another znode came since
// the listing, the own one may have been deleted before that: it must be watched, so that its end
// would have been told first.
func mayHold(a ahead, p proof) bool {
	switch a {
	case none, marked:
		return p >= told
	case released:
		return p == watched
	}
	return false
}

// mayWait tells whether the own znode may wait for its predecessor, which is watched. The own one
// has to be watched too, unless another listing comes before the grant: it shows whether the own
// znode exists, since no other can have that name.
func mayWait(a ahead, p proof, listsBeforeGrant bool) bool {
	switch a {
	case some:
		return p == watched || p == told && listsBeforeGrant
	case only:
		return p == watched
	}
	return false
}
