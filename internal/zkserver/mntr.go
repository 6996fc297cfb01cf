package zkserver

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// average is written as Java writes it: to four places, and never without a point.
func average(sum, count int64) string {
	avg := math.Round(float64(sum)/float64(max(count, 1))*1e4) / 1e4
	text := strconv.FormatFloat(avg, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// keys collects the lines of "mntr".
type keys struct{ strings.Builder }

func (k *keys) put(key string, value any) { fmt.Fprintf(k, "zk_%s\t%v\n", key, value) }

// mntr has those of the real server's keys for which there is something to count.
func (f *Front) mntr() string {
	t := &f.traffic
	var k keys
	k.put("version", f.s.as.banner())
	k.put("server_state", f.mode())
	k.put("ephemerals_count", f.tree.NumEphemerals())
	k.put("num_alive_connections", len(f.conns))
	k.put("outstanding_requests", f.outstanding())
	k.put("znode_count", f.tree.Len()+1)
	k.put("global_sessions", len(f.s.sessions))
	k.put("watch_count", f.data.Len()+f.child.Len())
	k.put("approximate_data_size", f.tree.DataSize())
	k.put("uptime", time.Since(f.s.started).Milliseconds())
	k.put("packets_sent", t.sent)
	k.put("packets_received", t.received)
	k.put("bytes_received_count", t.bytesIn)
	k.put("avg_latency", average(t.total.Milliseconds(), t.answered))
	k.put("min_latency", t.quickest.Milliseconds())
	k.put("max_latency", t.slowest.Milliseconds())
	k.put("connection_request_count", t.handshakes)
	k.put("auth_failed_count", t.refused)
	k.put("cnt_readlatency", t.reads)
	k.put("cnt_updatelatency", t.writes)
	if len(f.s.fronts) > 1 {
		k.put("quorum_size", len(f.s.fronts))
	}
	if f.leads() {
		k.put("leader_uptime", time.Since(f.elected).Milliseconds())
		k.put("learners", f.synced())
		k.put("synced_followers", f.synced())
	}
	return k.String()
}
