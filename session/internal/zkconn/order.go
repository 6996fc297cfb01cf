package zkconn

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

var errOvertaken = errors.New("an answer was overtaken: it is lost")

// overtaken is errOvertaken with the request whose answer was.
type overtaken struct {
	r  *request
	by string
}

func (o *overtaken) Error() string {
	return fmt.Sprintf("%v: xid %d by %s", errOvertaken, o.r.ask.Xid, o.by)
}

func (o *overtaken) Unwrap() error { return errOvertaken }

// overtakings is by how many pings' answers a request may be overtaken. ZooKeeper answers in the
// order of asking, pings too; others may answer those at once.
const overtakings = 2

// queue is what answers are awaited for on a wire, in the order of asking. An answer that doesn't
// come, while later ones do, is lost: then nobody knows what became of the request, and the
// connection is given up like any other that lost something.
type queue struct {
	all  []awaited
	head int // what comes before was answered
}

type awaited struct {
	r         *request // nil: a ping
	sent      time.Time
	overtaken int // by answers to pings
}

// asked notes a frame that is being written.
func (q *queue) asked(r *request, now time.Time) { q.all = append(q.all, awaited{r: r, sent: now}) }

// waiting is what was not answered.
func (q *queue) waiting() []awaited { return q.all[q.head:] }

// answered takes an answer to a request, which has to be the next one; pings without answers don't
// count.
func (q *queue) answered(xid int32) (*request, error) {
	rest := q.waiting()
	i := slices.IndexFunc(rest, func(a awaited) bool { return a.r != nil && a.r.ask.Xid == xid })
	if i < 0 {
		return nil, fmt.Errorf("%w: an answer to nothing, xid %d", errMalformed, xid)
	}
	for _, earlier := range rest[:i] {
		if earlier.r != nil {
			return nil, &overtaken{earlier.r, fmt.Sprint(xid)}
		}
	}
	r := rest[i].r
	q.drop(i + 1)
	return r, nil
}

// drop takes the first n out. The memory before them is used again, when it is half of all.
func (q *queue) drop(n int) {
	clear(q.all[q.head : q.head+n])
	if q.head += n; 2*q.head >= len(q.all) {
		q.all = slices.Delete(q.all, 0, q.head)
		q.head = 0
	}
}

// ponged takes an answer to a ping, and tells when that was sent; the zero time if it answers none.
func (q *queue) ponged() (sent time.Time, err error) {
	rest := q.waiting()
	i := slices.IndexFunc(rest, func(a awaited) bool { return a.r == nil })
	if i < 0 {
		return time.Time{}, nil
	}
	sent = rest[i].sent
	q.all = slices.Delete(q.all, q.head+i, q.head+i+1)
	if i == 0 {
		return sent, nil
	}
	first := &q.all[q.head]
	if first.overtaken++; first.overtaken >= overtakings {
		return sent, &overtaken{first.r, "pings"}
	}
	return sent, nil
}
