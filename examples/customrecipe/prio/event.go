package prio

// The intents, from the handle. Each has the number of its claim, and may be received twice.
type (
	want struct { // hold the lock, once
		Claim uint64
		ID    string
	}
	give   struct{ Claim uint64 } // withdraw it, waiting or holding
	lapsed struct{ Claim uint64 } // the possession has ended by itself
	missed struct{ Claim uint64 } // it could not be created, for want of trust
)

// The effects, for the face.
type (
	granted struct {
		Epoch uint64
		Claim uint64
		Path  string
		Token int64
	}
	ended   struct{ Claim uint64 } // somebody has deleted the znode of the possession
	revoked struct{ Claim uint64 } // somebody better waits
	gone    struct{ Claim uint64 } // nothing of the claim is left
	failed  struct {
		Claim uint64
		Err   error
	}
)
