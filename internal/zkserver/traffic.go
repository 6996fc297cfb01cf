package zkserver

import (
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

// traffic counts what passes over a connection, or over all of a front's, for the four-letter
// words.
type traffic struct {
	received, sent int64 // packets
	answered       int64 // requests, of which the times below are
	slowest        time.Duration
	quickest       time.Duration
	total          time.Duration
	last           time.Duration

	// Only of fronts.
	bytesIn       int64 // with the lengths before the frames
	reads, writes int64 // requests served, sessions opened and ended among the writes
	handshakes    int64
	refused       int64 // credentials
}

// count adds a request that was answered after a time.
func (t *traffic) count(took time.Duration) {
	if t.answered == 0 || took < t.quickest {
		t.quickest = took
	}
	t.slowest = max(t.slowest, took)
	t.last = took
	t.total += took
	t.answered++
}

// came is called for every request, sentOut for every frame to the client, served for every request
// that was served.
func (c *conn) came(now time.Time) {
	c.arrived, c.waited = now, false
	c.traffic.received++
	c.front.traffic.received++
	const head = 4
	c.front.traffic.bytesIn += int64(c.in.size) + head
}

func (c *conn) sentOut() {
	c.traffic.sent++
	c.front.traffic.sent++
}

// served takes the time only of requests that had to wait for something: the others take none that
// matters. Credentials don't count, as they don't pass the real server's pipeline.
func (c *conn) served(op jute.Op, xid int32, zxid int64) {
	if op == jute.OpSetAuth || op == jute.OpSASL {
		return
	}
	took := time.Duration(0)
	if c.waited {
		took = time.Since(c.arrived)
	}
	t := &c.front.traffic
	c.traffic.count(took)
	t.count(took)
	if op.Writes() || op == jute.OpCreateSession || op == jute.OpCloseSession {
		t.writes++
	} else {
		t.reads++
	}
	c.lastOp, c.lastZxid = op, zxid
	if xid >= 0 {
		c.lastXid = xid
	}
}

// opWords are the operations' names in the answer to "cons".
var opWords = map[jute.Op]string{
	jute.OpPing: "PING", jute.OpCreateSession: "SESS", jute.OpMulti: "MULT", jute.OpMultiRead: "MLTR", jute.OpCreate: "CREA",
	jute.OpCreate2: "CREA", jute.OpCreateTTL: "CREA", jute.OpCreateContainer: "CREA", jute.OpDelete: "DELE", jute.OpDeleteContainer: "DELE",
	jute.OpSetData: "SETD", jute.OpReconfig: "RECO", jute.OpSetACL: "SETA", jute.OpCloseSession: "CLOS", jute.OpSync: "SYNC",
	jute.OpCheck: "CHEC", jute.OpExists: "EXIS", jute.OpGetData: "GETD", jute.OpSetWatches: "SETW", jute.OpSetWatches2: "STW2",
	jute.OpAddWatch: "ADDW", jute.OpGetACL: "GETA", jute.OpGetChildren: "GETC", jute.OpGetChildren2: "GETC", jute.OpCountChildren: "GETACN",
	jute.OpCheckWatches: "CHKW", jute.OpRemoveWatches: "REMW", jute.OpWhoAmI: "HOMI", jute.OpGetEphemerals: "GETE",
}

func opWord(op jute.Op) string {
	if word, ok := opWords[op]; ok {
		return word
	}
	return "NA"
}
