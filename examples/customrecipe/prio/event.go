package prio

// The intents, from the handle. Each has the number of its claim, and may be received twice.
type (
	want struct { // hold the lock, once
		Claim uint64
		ID    string
	}
	give   struct{ Claim uint64 } // withdraw it, while it waits or holds
	lapsed struct{ Claim uint64 } // the possession has ended by itself
	missed struct{ Claim uint64 } // the hold could not be created without trust
)

// The effects, for the handle.
type (
	granted struct {
		Epoch uint64
		Claim uint64
		Path  string
		Token int64
	}
	ended   struct{ Claim uint64 } // another client deleted the znode of the possession
	revoked struct{ Claim uint64 } // a contender with a better priority waits
	gone    struct{ Claim uint64 } // nothing of the claim is left in ZooKeeper
	failed  struct {
		Claim uint64
		Err   error
	}
)
