package zkserver

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// version is what the server says that it is: as tools parse it, the version whose behaviour it has.
const version = "3.8.0-troupe, built on 2022-02-25 08:49 UTC"

// words are the four-letter words: what a connection may say instead of a handshake, to be told something and hung up on. The lock is held.
var words = map[string]func(*Front) string{
	"ruok": func(*Front) string { return "imok" },
	"isro": func(*Front) string { return "rw" },
	"srvr": (*Front).srvr,
	"stat": (*Front).stat,
	"mntr": (*Front).mntr,
	"cons": (*Front).cons,
	"wchs": (*Front).wchs,
	"wchp": (*Front).wchp,
	"wchc": (*Front).wchc,
	"dump": (*Front).dumpWord,
	"conf": (*Front).conf,
	"envi": (*Front).envi,
	"crst": (*Front).crst,
	"srst": (*Front).srst,
}

// word answers a four-letter word; false if the first four bytes of the connection are none.
func (c *conn) word(first uint32) bool {
	say, known := words[string(binary.BigEndian.AppendUint32(nil, first))]
	if !known {
		return false
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.await((*conn).heldOnTheWay) {
		c.came(time.Now())
		c.out.say(say(c.front))
	}
	return true
}

func (f *Front) mode() string {
	if len(f.s.fronts) > 1 {
		return "follower"
	}
	return "standalone"
}

func (f *Front) srvr() string {
	return "Zookeeper version: " + version + "\n" + f.numbers()
}

func (f *Front) stat() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Zookeeper version: %s\nClients:\n", version)
	for _, c := range f.sortedConns() {
		fmt.Fprintf(&b, " /%s[%d](queued=%d,recved=%d,sent=%d)\n", c.transport.RemoteAddr(), c.interest(), c.queued(), c.traffic.received, c.traffic.sent)
	}
	return b.String() + "\n" + f.numbers()
}

func (f *Front) numbers() string {
	t := &f.traffic
	return fmt.Sprintf("Latency min/avg/max: %d/%.4g/%d\nReceived: %d\nSent: %d\nConnections: %d\nOutstanding: %d\nZxid: 0x%x\nMode: %s\nNode count: %d\n",
		t.quickest.Milliseconds(), t.average(), t.slowest.Milliseconds(), t.received, t.sent, len(f.conns), f.outstanding(), f.applied, f.mode(),
		f.tree.Len()+1) // the real server counts the root under both its names
}

func (f *Front) mntr() string {
	t := &f.traffic
	values := []struct {
		key   string
		value any
	}{
		{"version", version},
		{"server_state", f.mode()},
		{"ephemerals_count", f.tree.NumEphemerals()},
		{"num_alive_connections", len(f.conns)},
		{"avg_latency", fmt.Sprintf("%.4g", t.average())},
		{"outstanding_requests", f.outstanding()},
		{"znode_count", f.tree.Len() + 1},
		{"global_sessions", len(f.s.sessions)},
		{"local_sessions", 0},
		{"packets_sent", t.sent},
		{"packets_received", t.received},
		{"watch_count", f.data.Len() + f.child.Len()},
		{"min_latency", t.quickest.Milliseconds()},
		{"max_latency", t.slowest.Milliseconds()},
		{"approximate_data_size", f.tree.DataSize()},
		{"uptime", time.Since(f.s.started).Milliseconds()},
	}
	var b strings.Builder
	for _, v := range values {
		fmt.Fprintf(&b, "zk_%s\t%v\n", v.key, v.value)
	}
	return b.String()
}

func (f *Front) cons() string {
	var b strings.Builder
	for _, c := range f.sortedConns() {
		t := &c.traffic
		fmt.Fprintf(&b, " /%s[%d](queued=%d,recved=%d,sent=%d", c.transport.RemoteAddr(), c.interest(), c.queued(), t.received, t.sent)
		if c.session != nil {
			fmt.Fprintf(&b, ",sid=0x%x,lop=%s,est=%d,to=%d,lcxid=0x%x,lzxid=0x%x,lresp=%d,llat=%d,minlat=%d,avglat=%d,maxlat=%d",
				uint64(c.session.id), opWord(c.lastOp), c.established.UnixMilli(), c.timeout.Milliseconds(), c.lastXid, uint64(c.lastZxid),
				c.arrived.Sub(f.s.started).Milliseconds(), t.last.Milliseconds(), t.quickest.Milliseconds(), int64(t.average()), t.slowest.Milliseconds())
		}
		b.WriteString(")\n")
	}
	return b.String() + "\n"
}

func (f *Front) crst() string {
	for c := range f.conns {
		c.traffic = traffic{}
	}
	return "Connection stats reset.\n"
}

func (f *Front) srst() string {
	f.traffic = traffic{}
	return "Server stats reset.\n"
}

func (f *Front) conf() string {
	_, port, _ := strings.Cut(f.address, ":")
	return fmt.Sprintf("clientPort=%s\nsecureClientPort=-1\ndataDir=\ndataDirSize=0\ndataLogDir=\ndataLogSize=0\ntickTime=%d\nmaxClientCnxns=0\n"+
		"minSessionTimeout=%d\nmaxSessionTimeout=%d\nclientPortListenBacklog=-1\nserverId=%d\n", cmp.Or(port, "-1"), f.s.cfg.Tick.Milliseconds(),
		f.s.cfg.MinTimeout.Milliseconds(), f.s.cfg.MaxTimeout.Milliseconds(), f.index)
}

func (f *Front) envi() string {
	host, _ := os.Hostname() // "" where the system doesn't say
	return fmt.Sprintf("Environment:\nzookeeper.version=%s\nhost.name=%s\ngo.version=%s\nos.name=%s\nos.arch=%s\n", version, host, runtime.Version(),
		runtime.GOOS, runtime.GOARCH)
}

// outstanding is how many requests have arrived and wait for the leader.
func (f *Front) outstanding() (n int) {
	for c := range f.conns {
		if c.waited {
			n++
		}
	}
	return n
}

func (f *Front) sortedConns() []*conn {
	return slices.SortedFunc(maps.Keys(f.conns), func(a, b *conn) int { return cmp.Compare(a.number, b.number) })
}

// interest is 1 for clients and 0 for those that only ask a four-letter word, as the real server's selector has it.
func (c *conn) interest() int {
	if c.session != nil {
		return 1
	}
	return 0
}

// queued is how many bytes wait to be written.
func (c *conn) queued() int {
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	return c.out.pending.Len()
}
