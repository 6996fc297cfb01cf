package link

import (
	"errors"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

var errOvertaken = errors.New("an answer was overtaken: it is lost")

// overtaken is errOvertaken with the number of the request whose answer was.
type overtaken struct {
	xid int32
	by  string
}

func (o *overtaken) Error() string { return fmt.Sprintf("%v: xid %d by %s", errOvertaken, o.xid, o.by) }

func (o *overtaken) Unwrap() error { return errOvertaken }

// overtakings is by how many pings' answers a request may be overtaken. ZooKeeper answers in the
// order of asking, pings too; others may answer those at once.
const overtakings = 2

// queue is what answers are awaited for on a line, in the order of asking. An answer that doesn't
// come, while later ones do, is lost: then nobody knows what became of the request, and the
// connection is given up like any other that lost something.
type queue []awaited

type awaited struct {
	xid       int32
	sent      time.Time
	overtaken int // by answers to pings
}

// asked notes a frame that was written.
func (q *queue) asked(xid int32, now time.Time) { *q = append(*q, awaited{xid: xid, sent: now}) }

// answered takes an answer to a request, which has to be the next one; pings without answers don't
// count.
func (q *queue) answered(xid int32) error {
	for len(*q) > 0 {
		next := (*q)[0]
		*q = (*q)[1:]
		switch {
		case next.xid == xid:
			return nil
		case next.xid != jute.XidPing:
			return &overtaken{next.xid, fmt.Sprint(xid)}
		}
	}
	return nil // an answer to nothing is found out elsewhere
}

// ponged takes an answer to a ping, and tells when that was sent; the zero time if it answers none.
func (q *queue) ponged() (sent time.Time, err error) {
	for i := range *q {
		if (*q)[i].xid != jute.XidPing {
			continue
		}
		sent = (*q)[i].sent
		*q = append((*q)[:i], (*q)[i+1:]...)
		if i == 0 {
			return sent, nil
		}
		first := &(*q)[0]
		if first.overtaken++; first.overtaken >= overtakings {
			return sent, &overtaken{first.xid, "pings"}
		}
		return sent, nil
	}
	return sent, nil
}
