package zkconn

import (
	"fmt"
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

// overtakenError is the loss of the reply to the request r.
type overtakenError struct {
	r  *request
	by string
}

func (e *overtakenError) Error() string {
	return fmt.Sprintf("an answer was overtaken: it is lost: xid %d by %s", e.r.ask.Xid, e.by)
}

// maxOvertaken is how many replies to pings may come before that to an older request. ZooKeeper
// replies to all in order; other servers may reply to pings at once.
const maxOvertaken = 2

// queue holds the requests that are not answered on a connection, pings included, in the order of
// sending. Servers reply in that order. If a later reply comes first, the earlier one is lost, and
// nobody would ever know the outcome of its request: the connection is given up.
type queue []*request

// answered removes the request of a reply. It must be the oldest one; replies to older pings may be
// missing.
func (q *queue) answered(xid int32) (*request, error) {
	i := slices.IndexFunc(*q, func(r *request) bool { return r.ask.Xid == xid })
	if i < 0 {
		return nil, fmt.Errorf("%w: an answer to nothing, xid %d", errMalformed, xid)
	}
	for _, earlier := range (*q)[:i] {
		if !earlier.isPing() {
			return nil, &overtakenError{earlier, fmt.Sprint(xid)}
		}
	}
	r := (*q)[i]
	*q = slices.Delete(*q, 0, i+1)
	return r, nil
}

// ponged removes the oldest ping, and returns when it was sent: the zero time if there is none.
func (q *queue) ponged() (sent time.Time, err error) {
	i := slices.IndexFunc(*q, (*request).isPing)
	if i < 0 {
		return time.Time{}, nil
	}
	sent = (*q)[i].sentAt
	*q = slices.Delete(*q, i, i+1)
	if i == 0 {
		return sent, nil
	}
	first := (*q)[0]
	if first.overtaken++; first.overtaken >= maxOvertaken {
		return sent, &overtakenError{first, "pings"}
	}
	return sent, nil
}

func newPing() *request {
	return &request{ask: jute.Request{Xid: jute.XidPing, Op: jute.OpPing}}
}

func (r *request) isPing() bool { return r.ask.Op == jute.OpPing }
