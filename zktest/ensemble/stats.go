package ensemble

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Stats are the counters of one server since its last start, as its four-letter word mntr reports
// them. The difference between two of them is exact: reading them changes none of the fields. (It
// does change zk_packets_received and zk_packets_sent in Raw, the latter by the number of packets
// of the answer.)
//
// A counter that the server does not have is [Uncounted]: Requests, Writes, Reads and WatchEvents
// before ZooKeeper 3.6.
type Stats struct {
	// Requests counts the requests of this server's clients that entered its pipeline: reads and
	// writes of every kind (a Multi counts as one), syncs, pings, watches that are set again, and
	// the creation of a session and its end, which is requested by the client or, on the leader, by
	// expiry. Credentials are not counted. A client library sends pings by the clock, about three
	// per session timeout, so a long timeout keeps pings out of a measurement.
	Requests int64
	// Writes counts those of Requests that went through the leader's log: changes, including
	// refused ones, and the creation and end of sessions. Syncs are not writes.
	Writes int64
	// Reads counts the other requests: reads, syncs, pings.
	Reads int64
	// WatchEvents counts the watches that fired on this server. A session's data watch and child
	// watch on a deleted znode count as two, although one event is sent.
	WatchEvents int64

	Watches     int // currently set
	Connections int // currently open, including the one that asks
	Znodes      int // in the tree, including ZooKeeper's own four or five
	Ephemerals  int // ephemeral znodes in the tree

	Raw map[string]string // the whole answer to mntr
}

// Uncounted is the value of a counter that the server doesn't have.
const Uncounted = -1

// Stats reads the counters of server i. It returns an error if the server does not answer, or the
// answer has no counters.
func (e *Ensemble) Stats(i int) (Stats, error) {
	answer, err := word(context.Background(), e.servers[i].addr, "mntr") // bounded by the exchange's own timeout
	if err != nil {
		return Stats{}, fmt.Errorf("ensemble: counters of server %d: %w", i, err)
	}
	stats, err := parseStats(answer)
	if err != nil {
		return Stats{}, fmt.Errorf("ensemble: counters of server %d: %w", i, err)
	}
	return stats, nil
}

func parseStats(answer string) (Stats, error) {
	s := Stats{Raw: map[string]string{}}
	for line := range strings.Lines(answer) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			s.Raw[key] = value
		}
	}
	if s.Raw["zk_server_state"] == "" {
		return s, fmt.Errorf("no counters in %q", answer)
	}
	var failed error
	read := func(key string) int64 {
		value, ok := s.Raw[key]
		if !ok {
			return Uncounted
		}
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil && failed == nil {
			failed = fmt.Errorf("%s: %q is not a number", key, value)
		}
		return n
	}
	s.Requests = read("zk_cnt_request_throttle_queue_time_ms") // every request passes the throttle, forwarded ones on the client's server only
	s.Writes = read("zk_cnt_updatelatency")
	s.Reads = read("zk_cnt_readlatency")
	for _, kind := range []string{"created", "deleted", "changed", "children"} {
		fired := read("zk_sum_node_" + kind + "_watch_count")
		if s.WatchEvents == Uncounted || fired == Uncounted {
			s.WatchEvents = Uncounted
			continue
		}
		s.WatchEvents += fired
	}
	s.Watches = int(read("zk_watch_count"))
	s.Connections = int(read("zk_num_alive_connections"))
	s.Znodes = int(read("zk_znode_count"))
	s.Ephemerals = int(read("zk_ephemerals_count"))
	return s, failed
}
