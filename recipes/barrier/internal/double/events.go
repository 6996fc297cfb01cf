package double

// The requests of the application. Claims and passages are numbered together. The machine ignores a
// number that it has received before.
type (
	// Wanted asks for a passage of one round. If the claim is refused, one without Once ends the
	// instance.
	Wanted struct {
		Claim uint64
		Once  bool
	}
	// Withdrawn: the claim is not wanted any more.
	Withdrawn struct{ Claim uint64 }
	// Departed: the passage of the claim is over, given up or lost.
	Departed struct{ Claim uint64 }
	// Deferred: the session cannot vouch for a possession now, so no passage came of [Enter]. The
	// claim is still wanted.
	Deferred struct {
		Claim uint64
		Once  bool
	}
	// Followed tells a restarted machine of a passage that is over, while its round may not be.
	Followed struct {
		Claim uint64
		Round int64
		Names []string
		Self  string // which of them it is
	}
)

// What the machine tells the application.
type (
	// Enter: the round of the claim is released.
	Enter struct {
		Claim uint64
		Epoch uint64
		Round int64
		Path  string // of the party's znode
		Self  string // its name
		Token int64
		Names []string // of the members' znodes, sorted
	}
	// Lost: another client deleted the party's znode, so the passage is lost.
	Lost struct{ Claim uint64 }
	// Left: every member of the passage's round has departed or died.
	Left struct{ Claim uint64 }
	// Refuse refuses the claim.
	Refuse struct {
		Claim uint64
		Err   error
	}
)
