package zkserver

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// The keys of "mntr" are the real server's, all of them, so that what collects them finds them.
// What this server has nothing to count for is 0.

// idleCounters belong to quorums, TLS, disks and queues, of which there are none.
var idleCounters = strings.Fields(`
	non_mtls_remote_conn_count outstanding_tls_handshake non_mtls_local_conn_count watch_bytes outstanding_changes_removed
	throttled_ops stale_requests_dropped insecure_admin_count connection_rejected cnxn_closed_without_zk_server_running
	sessionless_connections_expired looking_count dead_watchers_queued stale_requests connection_drop_count learner_proposal_received_count
	digest_mismatches_count dead_watchers_cleared response_packet_cache_hits add_dead_watcher_stall_time request_throttle_wait_count
	requests_not_forwarded_to_commit_processor response_packet_cache_misses ensemble_auth_success learner_commit_received_count stale_replies
	ensemble_auth_fail diff_count response_packet_get_children_cache_misses connection_revalidate_count quit_leading_due_to_disloyal_voter
	snap_count unrecoverable_error_count unsuccessful_handshake commit_count stale_sessions_expired response_packet_get_children_cache_hits
	outstanding_changes_queued request_commit_queued ensemble_auth_skip skip_learner_request_to_next_processor_count tls_handshake_exceeded
	revalidate_count
`)

// idleSummaries too; each has an average, a minimum, a maximum, a count and a sum.
var idleSummaries = strings.Fields(`
	socket_closing_time proposal_process_time leader_unavailable_time session_queues_drained write_commit_proc_req_queued connection_token_deficit
	read_commit_proc_req_queued startup_txns_load_time sync_processor_queue_size follower_sync_time prep_processor_queue_size fsynctime
	inflight_snap_count reads_issued_from_session_queue learner_request_processor_queue_size snapshottime unavailable_time startup_txns_loaded
	reads_after_write_in_session_queue requests_in_session_queue write_commit_proc_issued prep_process_time pending_session_queue_size
	time_waiting_empty_pool_in_commit_processor_read_ms commit_process_time dbinittime inflight_diff_count netty_queued_buffer_capacity
	election_time commit_commit_proc_req_queued sync_processor_batch_size write_batch_time_in_commit_processor read_commit_proc_issued
	concurrent_request_processing_in_commit_processor observer_sync_time sync_process_time startup_snap_load_time
`)

// idleHistograms have quantiles as well.
var idleHistograms = strings.Fields(`
	prep_processor_queue_time_ms jvm_pause_time_ms close_session_prep_time read_commitproc_time_ms local_write_committed_time_ms quorum_ack_latency
	om_commit_process_time_ms read_final_proc_time_ms commit_propagation_latency dead_watchers_cleaner_latency write_final_proc_time_ms
	proposal_ack_creation_latency proposal_latency om_proposal_process_time_ms sync_processor_queue_and_flush_time_ms propagation_latency
	server_write_committed_time_ms sync_processor_queue_time_ms sync_processor_queue_flush_time_ms write_commitproc_time_ms
`)

// summary is what the real server keeps of a series of numbers.
type summary struct{ count, sum, least, most int64 }

func (s *summary) add(n int64) {
	if s.count == 0 || n < s.least {
		s.least = n
	}
	s.most = max(s.most, n)
	s.count++
	s.sum += n
}

// average is written as Java writes it: to four places, and never without a point.
func (s *summary) average() string {
	avg := 0.0
	if s.count > 0 {
		avg = math.Round(float64(s.sum)/float64(s.count)*1e4) / 1e4
	}
	text := strconv.FormatFloat(avg, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// keys collects the lines of "mntr".
type keys struct{ strings.Builder }

func (k *keys) put(key string, value any) { fmt.Fprintf(k, "zk_%s\t%v\n", key, value) }

func (k *keys) summary(key string, s summary) {
	k.put("avg_"+key, s.average())
	k.put("min_"+key, s.least)
	k.put("max_"+key, s.most)
	k.put("cnt_"+key, s.count)
	k.put("sum_"+key, s.sum)
}

// sizes are -1 before there was one.
func (k *keys) sizes(key string, last int64, s summary) {
	if s.count == 0 {
		last, s.least, s.most = -1, -1, -1
	}
	k.put("last_"+key, last)
	k.put("min_"+key, s.least)
	k.put("max_"+key, s.most)
}

// histogram has quantiles of what took no time.
func (k *keys) histogram(key string, count int64) {
	k.summary(key, summary{count: count})
	for _, quantile := range []string{"p50", "p95", "p99", "p999"} {
		k.put(quantile+"_"+key, 0)
	}
}

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
	k.put("local_sessions", 0)
	k.put("watch_count", f.data.Len()+f.child.Len())
	k.put("approximate_data_size", f.tree.DataSize())
	k.put("uptime", time.Since(f.s.started).Milliseconds())
	k.put("packets_sent", t.sent)
	k.put("packets_received", t.received)
	k.put("bytes_received_count", t.bytesIn)
	k.put("response_bytes", t.bytesOut)
	k.put("avg_latency", t.latency().average())
	k.put("min_latency", t.quickest.Milliseconds())
	k.put("max_latency", t.slowest.Milliseconds())
	k.sizes("client_response_size", t.lastSize, t.sizes)
	k.put("connection_request_count", t.handshakes)
	k.put("prep_processor_request_queued", t.reads+t.writes)
	k.put("sync_processor_request_queued", t.reads+t.writes)
	k.put("auth_failed_count", t.refused)
	k.put("large_requests_rejected", 0)
	k.put("connection_drop_probability", "0.0")
	k.put("open_file_descriptor_count", 0)
	k.put("max_file_descriptor_count", 0)
	for _, key := range idleCounters {
		k.put(key, 0)
	}
	for kind, key := range watchKeys {
		k.summary(key, t.watches[kind])
	}
	for _, key := range idleSummaries {
		k.summary(key, summary{})
	}
	f.quorum(&k)
	k.put("proposal_count", t.proposals)
	if f.s.as.snapshots {
		for _, key := range []string{"snapshot_error_count", "snapshot_rate_limited_count", "restore_error_count", "restore_rate_limited_count"} {
			k.put(key, 0)
		}
		k.summary("restore_time", summary{})
	}
	t.readBelow.put(&k, "read")
	t.writtenBelow.put(&k, "write")
	k.histogram("updatelatency", t.writes)
	k.histogram("readlatency", t.reads)
	k.histogram("request_throttle_queue_time_ms", t.reads+t.writes)
	for _, key := range idleHistograms {
		k.histogram(key, 0)
	}
	return k.String()
}
