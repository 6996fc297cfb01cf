package history

// Kind says what happened. The meaning of the other fields depends on it.
type Kind string

// The kinds of events.
const (
	// Ask: a thing was asked for: a worker calls for a grant, a round, an enqueued item.
	Ask Kind = "ask"
	// Act: the holder of Thing read the clock, found its possession valid, and read the clock
	// again. It was the holder at some moment between From and At. Token, Mode and Weight are the
	// possession's, Party is the holder.
	Act Kind = "act"
	// Over: the possession of Token ended, for the reason Value.
	Over Kind = "over"
	// Struck: the znode of the possession Token was deleted by an outsider, between From and At.
	Struck Kind = "struck"
	// Expired: a rival that knows the session's password ended the session of the worker Party, or
	// tried to, between From and At.
	Expired Kind = "expired"
	// Epoch: an epoch of a session of the process Party has ended, and the epoch Token has begun.
	Epoch Kind = "epoch"
	// Moved: a call of Work has ended: the workload makes progress.
	Moved Kind = "moved"
	// Slot: the process Party has an instance Thing of Work, which has to move by itself: its Moved
	// events have the same Thing.
	Slot Kind = "slot"
	// Twice: the queue Thing had two contenders with the GUID Value at one time.
	Twice Kind = "twice"
	// Step: the present step of the worker Party in Work. A report of a standstill has the last one
	// of each worker.
	Step Kind = "step"
	// Standstill: Work had not moved at the end of a calm, and had the znode Thing, as Value
	// describes it. Without Work, Value describes the worker Thing, its session and actors.
	Standstill Kind = "standstill"
	// Failed: a call of Work ended with an error that is not documented for users. It is a
	// violation by itself.
	Failed Kind = "failed"
	// Put, Got, Acked: a queue's item Value was put, delivered with attempt Token, acknowledged.
	// From is the time of the request, and Done tells whether it was confirmed. The outcome of a
	// Put that is not Done is not known. Weight of a Put is its delay in milliseconds.
	Put   Kind = "put"
	Got   Kind = "got"
	Acked Kind = "acked"
	// Wrote, Read: Thing was set to Value between From and At, or read. With Weight 1 it was set on
	// condition that it was Old. Token is the writer's fencing token or the version that was read;
	// a write that is not Done may have been carried out, or may be later.
	Wrote Kind = "wrote"
	Read  Kind = "read"
	// Outcome: Party learned the outcome Value of transaction Thing, which it got to know at From;
	// in the mode Vote, Value is its vote.
	Outcome Kind = "outcome"
	// Round: Party got the verdict Value on round Token of the double barrier Thing, for Weight
	// parties.
	Round Kind = "round"
	// Left: Party's Leave returned: round Thing is over for all.
	Left Kind = "left"
	// Level: the process has Token goroutines and Weight bytes of memory in use. Value is
	// "begin" at first, and "end" when its sessions are closed.
	Level Kind = "level"
	// Diverged: the servers disagree about the tree, or have lost confirmed writes, as Value says.
	// Events from the last storm on are not checked.
	Diverged Kind = "diverged"
	// StormBegan, CalmBegan, CalmEnded: faults begin; the last one has been healed; the next ones
	// begin, or the end of the run.
	StormBegan Kind = "storm"
	CalmBegan  Kind = "calm"
	CalmEnded  Kind = "calm-ended"
	// End: the worker has ended in order.
	End Kind = "end"
)

// GivenUp is the value of Over where the holder ended its possession; workloads of locks alone
// write it, for the check of delays.
const GivenUp = "given up"

// Shared is the mode of possessions that are held together; others are held alone.
const Shared = "shared"

// AtMostOnce is the Old of Put for items that are delivered once, or never.
const AtMostOnce = "at-most-once"

// Modes of Outcome, beside none.
const (
	Confirmed = "confirmed" // the acknowledgement of the outcome was confirmed
	Vote      = "vote"
)

// Values of Read for a znode whose creation has an unknown outcome.
const (
	There   = "there"
	Missing = "missing"
)

// Values of a barrier.
const (
	Up   = "up"
	Down = "down"
)

// Modes of Put, Acked and Wrote.
const (
	Trying  = "trying"  // written before the request: a worker that is killed then can't write the outcome
	Refused = "refused" // it was not carried out, for certain
)

// Event is one line of a history.
type Event struct {
	At     int64  `json:"t"`           // when it was over, by Now
	From   int64  `json:"b,omitempty"` // when it began
	Kind   Kind   `json:"k"`
	Work   string `json:"w,omitempty"` // the workload
	Thing  string `json:"x,omitempty"` // the lock, register, transaction, …
	Party  string `json:"p,omitempty"` // the process or session: unique in the run
	Token  int64  `json:"n,omitempty"`
	Mode   string `json:"m,omitempty"`
	Weight int64  `json:"g,omitempty"`
	Value  string `json:"v,omitempty"`
	Old    string `json:"o,omitempty"`
	Done   bool   `json:"d,omitempty"`

	Worker string `json:"-"` // the worker whose file it is from
}
