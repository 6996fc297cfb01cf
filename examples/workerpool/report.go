package main

import (
	"bufio"
	"encoding/json"
	"io"
	"sync"
	"time"
)

// report is one line on a worker's standard output. The parent uses it for the progress line and
// the choice of victims; nothing is coordinated with it.
type report struct {
	Epoch   uint64        `json:"epoch,omitempty"` // a ZooKeeper session has begun: the worker's first, second, …
	Session int64         `json:"session,omitempty"`
	Timeout time.Duration `json:"timeout,omitempty"` // the negotiated timeout
	Working bool          `json:"working,omitempty"` // it has started a batch
	Idle    bool          `json:"idle,omitempty"`    // it has finished the batch
	Refused *refusal      `json:"refused,omitempty"` // a write was refused because the worker had lost its claim or term
}

// reporter writes reports. It is safe for concurrent use.
type reporter struct {
	mu  sync.Mutex
	out *json.Encoder
}

func newReporter(out io.Writer) *reporter { return &reporter{out: json.NewEncoder(out)} }

func (r *reporter) send(what report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.out.Encode(what)
	_ = err // the parent is gone; the end of standard input tells the worker as well
}

// readReports calls f for each report until the worker ends. The last line of a worker that was
// killed may be incomplete, and is ignored.
func readReports(in io.Reader, f func(report)) {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var r report
		if json.Unmarshal(lines.Bytes(), &r) == nil {
			f(r)
		}
	}
}
