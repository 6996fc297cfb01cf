package machine

// DowngradeWanted: the holder of a claim goes on as a reader; its hold as a writer has ended
// already. It is answered by another [Grant] of the claim, or by what ends a possession: [End],
// [Freed], [Settle].
type DowngradeWanted struct{ Claim Claim }

// Downgrade puts a reader's znode into the place in line of an own one, which is deleted in the
// same transaction. Token is what that place was taken with.
type Downgrade struct {
	Epoch uint64
	Path  string // of the writer's
	Token int64
}

// Downgraded answers [Downgrade]. Gone tells that the znode at Path was not there any more; with
// that, and with Err, which is definite, nothing was done.
type Downgraded struct {
	Epoch uint64
	Path  string // of the writer's
	New   string // of the reader's
	Gone  bool
	Err   error
}

func (DowngradeWanted) event() {}
func (Downgraded) event()      {}
func (Downgrade) effect()      {}
