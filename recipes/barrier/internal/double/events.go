package double

// The events that the application sends. A claim is the intent to enter one round. Claims and
// passages are numbered together. The machine ignores a number that it has received before.
type (
	// Wanted asks for a passage of one round. If a claim without Once is refused, the instance
	// ends.
	Wanted struct {
		Claim uint64
		Once  bool
	}
	// Withdrawn takes the claim back.
	Withdrawn struct{ Claim uint64 }
	// Departed tells that the passage of the claim has ended: it was released or lost.
	Departed struct{ Claim uint64 }
	// Deferred answers [Enter]: the session cannot vouch for a possession now, so there is no
	// passage. The claim is still wanted.
	Deferred struct {
		Claim uint64
		Once  bool
	}
	// Followed tells a restarted machine of a passage whose round the other members may not have
	// left yet. The passage itself has ended.
	Followed struct {
		Claim uint64
		Round int64
		Names []string
		Self  string // the one of this party
	}
)

// The effects for the application.
type (
	// Enter offers a passage: the round of the claim is released, with this party as a member.
	Enter struct {
		Claim uint64
		Epoch uint64
		Round int64
		Path  string // the path of the party's znode
		Self  string // the name of the party's znode
		Token int64
		Names []string // the names of the members' znodes, sorted
	}
	// Lost ends the passage: another client has deleted the party's znode.
	Lost struct{ Claim uint64 }
	// Left tells that every member of the passage's round has departed or died.
	Left struct{ Claim uint64 }
	// Refuse refuses the claim.
	Refuse struct {
		Claim uint64
		Err   error
	}
)
