package prio

// The wishes, from the face. Each has the number of the claim that it is about; one may be told
// twice.
type (
	want struct { // hold the lock, once
		Claim uint64
		ID    string
	}
	give   struct{ Claim uint64 } // not any more: waiting or holding
	lapsed struct{ Claim uint64 } // the possession has ended by itself
	missed struct{ Claim uint64 } // it could not be made, for want of trust
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
