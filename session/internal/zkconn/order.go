package zkconn

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

var errOvertaken = errors.New("an answer was overtaken: it is lost")

// overtaken is errOvertaken for the request r.
type overtaken struct {
	r  *request
	by string
}

func (o *overtaken) Error() string {
	return fmt.Sprintf("%v: xid %d by %s", errOvertaken, o.r.ask.Xid, o.by)
}

func (o *overtaken) Unwrap() error { return errOvertaken }

// maxOvertaken is how many replies to pings may come before that to an older request. ZooKeeper
// replies to all in order; other servers may reply to pings at once.
const maxOvertaken = 2

// queue holds what is not answered on a connection, in the order of sending. Servers reply in that
// order. If a later reply comes first, the earlier one is lost, and nobody would ever know the
// outcome of its request: the connection is given up.
type queue struct {
	all  []awaited
	head int // index of the oldest
}

type awaited struct {
	r         *request // nil: a ping
	sent      time.Time
	overtaken int // replies to pings that came before
}

// asked adds what is about to be written.
func (q *queue) asked(r *request, now time.Time) { q.all = append(q.all, awaited{r: r, sent: now}) }

// waiting is what is not answered.
func (q *queue) waiting() []awaited { return q.all[q.head:] }

// answered removes the request of a reply. It must be the oldest one; replies to older pings may be
// missing.
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

// drop removes the n oldest. Their memory is used again when it is half of all.
func (q *queue) drop(n int) {
	clear(q.all[q.head : q.head+n])
	if q.head += n; 2*q.head >= len(q.all) {
		q.all = slices.Delete(q.all, 0, q.head)
		q.head = 0
	}
}

// ponged removes the oldest ping, and returns when it was sent: the zero time if there is none.
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
	if first.overtaken++; first.overtaken >= maxOvertaken {
		return sent, &overtaken{first.r, "pings"}
	}
	return sent, nil
}
