package zkserver

import "time"

// Which of several fronts says that it leads, to who asks with a four-letter word. The tree is led
// by none of them: it is the Server that numbers transactions and counts the time of sessions.

// inTouch is a front that its peers can reach.
func (f *Front) inTouch() bool { return !f.down && f.isolated == nil && f.frozen == nil }

// mode is what a front says that it is.
func (f *Front) mode() string {
	switch {
	case len(f.s.fronts) == 1:
		return "standalone"
	case f.leads():
		return "leader"
	}
	return "follower"
}

func (f *Front) leads() bool { return len(f.s.fronts) > 1 && f.term > 0 }

// synced is how many fronts follow this one, which leads.
func (f *Front) synced() (n int) {
	for _, other := range f.s.fronts {
		if other != f && other.inTouch() && f.inTouch() {
			n++
		}
	}
	return n
}

// quorum writes what "mntr" says of a server that has peers.
func (f *Front) quorum(k *keys) {
	if len(f.s.fronts) == 1 {
		return
	}
	k.put("quorum_size", len(f.s.fronts))
	if !f.leads() {
		k.put("peer_state", "following - broadcast")
		return
	}
	k.put("peer_state", "leading - broadcast")
	k.put("leader_uptime", time.Since(f.elected).Milliseconds())
	k.put("learners", f.synced())
	k.put("synced_followers", f.synced())
	k.put("synced_non_voting_followers", 0)
	k.put("synced_observers", 0)
	k.put("pending_syncs", 0)
	k.sizes("proposal_size", 0, summary{}) // nothing is proposed here that could be measured
	for _, other := range f.s.fronts {
		if other != f {
			k.summary(other.label()+"_learner_handler_qp_size", summary{})
			k.histogram(other.label()+"_learner_handler_qp_time_ms", 0)
		}
	}
}
