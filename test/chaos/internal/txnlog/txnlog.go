package txnlog

import (
	"fmt"
	"slices"
	"strings"
)

// Logs are the transaction logs of an ensemble.
type Logs struct {
	dirs      []string
	committed []txn // what a majority had logged at some time, in the order of the ids
}

// Of returns the logs of the servers with these data directories.
func Of(dirs []string) *Logs { return &Logs{dirs: dirs} }

// Lost reads the logs and tells which committed transaction a server lacks, or has replaced by
// another; "" if there is none. It is called when all servers run and have caught up, and must not
// be called concurrently.
func (l *Logs) Lost() string {
	servers := make([]server, len(l.dirs))
	for i, dir := range l.dirs {
		var err error
		if servers[i], err = read(dir); err != nil {
			return fmt.Sprintf("the log of server %d can't be read: %v", i, err)
		}
	}
	l.commit(servers)
	for _, t := range l.committed {
		for i, s := range servers {
			switch found := s.find(t.zxid); {
			case slices.Contains(found, t):
			case len(found) > 0:
				return fmt.Sprintf("server %d has another transaction %#x than the one that %s", i, t.zxid, holders(servers, t))
			case s.lacks(t.zxid):
				return fmt.Sprintf("server %d has no transaction %#x, which %s", i, t.zxid, holders(servers, t))
			}
		}
	}
	return ""
}

// commit adds what a majority has logged.
func (l *Logs) commit(servers []server) {
	known, logged := server{txns: l.committed}, map[txn]int{}
	for _, s := range servers {
		for _, t := range s.txns {
			if !slices.Contains(known.find(t.zxid), t) {
				logged[t]++
			}
		}
	}
	for t, n := range logged {
		if n > len(servers)/2 {
			l.committed = append(l.committed, t)
		}
	}
	slices.SortFunc(l.committed, byZxid)
}

// holders names the servers that have a transaction, or says that they are no majority any more.
func holders(servers []server, t txn) string {
	var all []string
	for i, s := range servers {
		if slices.Contains(s.find(t.zxid), t) {
			all = append(all, fmt.Sprint(i))
		}
	}
	if len(all) <= len(servers)/2 {
		return "a majority had logged before"
	}
	return fmt.Sprintf("servers %s have", strings.Join(all, " and "))
}
