package znode

import (
	"strconv"
	"strings"
)

const (
	lease = "lease-"
	java  = "x-"
)

// layouts is what may stand in front of the sequence number.
var layouts = [...]struct {
	prefix string
	kind   Kind
}{
	{"lock-", Lock},       // Troupe, Curator, go-zookeeper, ZooKeeper's recipe page
	{"n_", Candidate},     // Troupe, ZooKeeper's LeaderElectionSupport and recipe page
	{"read-", Read},       // Troupe, ZooKeeper's recipe page
	{"write-", Write},     // Troupe, ZooKeeper's recipe page
	{lease, Lease},        // Curator; Troupe has a weight behind it
	{"latch-", Candidate}, // Curator's LeaderLatch
	{"__READ__", Read},    // Curator
	{"__WRIT__", Write},   // Curator
	{"__lock__", Write},   // kazoo's Lock and WriteLock, which are one
	{"__rlock__", Read},   // kazoo's ReadLock
}

// kazoo takes off the 32 digits that kazoo puts right in front of its mark.
func kazoo(head string) (GUID, string) {
	if len(head) <= plain {
		return "", head
	}
	id, mark := head[:plain], head[plain:]
	if (mark == "__lock__" || mark == "__rlock__") && isGUID(id) {
		return GUID(id), mark
	}
	return "", head
}

// weight takes Troupe's "lease-<weight>-" apart.
func weight(head string) (int, bool) {
	w, ok := enclosed(head, lease)
	if !ok || w[0] < '1' || w[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseInt(w, 10, 32)
	return int(n), err == nil
}

// isJava tells whether it is "x-<session id>-", as ZooKeeper's WriteLock names its znodes.
func isJava(head string) bool {
	id, ok := enclosed(head, java)
	if !ok || id[0] == '+' {
		return false
	}
	_, err := strconv.ParseInt(id, 10, 64)
	return err == nil
}

// enclosed returns what stands between a prefix and a dash at the end, if anything does.
func enclosed(head, prefix string) (string, bool) {
	s, ok := strings.CutPrefix(head, prefix)
	if !ok {
		return "", false
	}
	s, ok = strings.CutSuffix(s, "-")
	return s, ok && s != ""
}
