package main

import (
	"bufio"
	"encoding/json"
	"io"
	"sync"
	"time"
)

// report is one line on a worker's standard output. It tells the parent what to show and whom to
// strike; nothing is coordinated with it.
type report struct {
	Epoch   uint64        `json:"epoch,omitempty"` // a ZooKeeper session began, the worker's first, second, …
	Session int64         `json:"session,omitempty"`
	Timeout time.Duration `json:"timeout,omitempty"` // as negotiated
	Working bool          `json:"working,omitempty"` // it has begun with a batch
	Idle    bool          `json:"idle,omitempty"`    // it is through with it
	Refused *refusal      `json:"refused,omitempty"` // the worker wanted to write with what it had lost
}

// reporter writes reports, from any goroutine.
type reporter struct {
	mu  sync.Mutex
	out *json.Encoder
}

func newReporter(out io.Writer) *reporter { return &reporter{out: json.NewEncoder(out)} }

func (r *reporter) send(what report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.out.Encode(what)
	_ = err // nobody listens any more: the end of standard input says so too
}

// readReports calls f for each report until the worker's end. The last line of a worker that was
// killed may be cut off: it is left out.
func readReports(in io.Reader, f func(report)) {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var r report
		if json.Unmarshal(lines.Bytes(), &r) == nil {
			f(r)
		}
	}
}
