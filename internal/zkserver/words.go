package zkserver

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// words are the four-letter words: what a connection may say instead of a handshake, to be told
// something and hung up on. The lock is held.
var words = map[string]func(*Front) string{
	"ruok": func(*Front) string { return "imok" },
	"isro": func(*Front) string { return "rw" },
	"envi": (*Front).envi,
	"srvr": (*Front).srvr,
	"stat": (*Front).stat,
	"mntr": (*Front).mntr,
	"cons": (*Front).cons,
	"wchp": (*Front).wchp,
	"wchs": (*Front).wchs,
	"dump": (*Front).dumpWord,
	"conf": (*Front).conf,
}

// word answers a four-letter word; false if the first four bytes of the connection are none.
func (c *conn) word(first uint32) bool {
	word := string(binary.BigEndian.AppendUint32(nil, first))
	if words[word] == nil {
		return false
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.await((*conn).arrivalGate) {
		c.came(time.Now())
		if allowed := c.s.cfg.Words; allowed != nil && !slices.Contains(allowed, word) {
			c.out.say(word + " is not executed because it is not in the whitelist.\n")
		} else {
			c.out.say(c.front.say(word))
		}
		c.front.traffic.sent++
	}
	return true
}

func (f *Front) srvr() string {
	return "Zookeeper version: " + f.s.dialect.banner() + "\n" + f.numbers()
}

func (f *Front) stat() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Zookeeper version: %s\nClients:\n", f.s.dialect.banner())
	for _, c := range f.sortedConns() {
		fmt.Fprintf(&b, " /%s[%d](queued=%d,recved=%d,sent=%d)\n", c.transport.RemoteAddr(), c.interest(), c.queued(), c.traffic.received, c.traffic.sent)
	}
	return b.String() + "\n" + f.numbers()
}

func (f *Front) numbers() string {
	t := &f.traffic
	text := fmt.Sprintf("Latency min/avg/max: %d/%s/%d\nReceived: %d\nSent: %d\nConnections: %d\nOutstanding: %d\nZxid: 0x%x\nMode: %s\nNode count: %d\n",
		t.quickest.Milliseconds(), average(t.total.Milliseconds(), t.answered), t.slowest.Milliseconds(), t.received, t.sent, len(f.conns), f.outstanding(), f.applied, f.mode(),
		f.tree.Len()+1) // the real server counts the root under both its names
	if f.leads() {
		text += "Proposal sizes last/min/max: -1/-1/-1\n"
	}
	return text
}

func (f *Front) cons() string {
	var b strings.Builder
	for _, c := range f.sortedConns() {
		t := &c.traffic
		fmt.Fprintf(&b, " /%s[%d](queued=%d,recved=%d,sent=%d", c.transport.RemoteAddr(), c.interest(), c.queued(), t.received, t.sent)
		if c.session != nil {
			fmt.Fprintf(&b, ",sid=0x%x,lop=%s,est=%d,to=%d,lcxid=0x%x,lzxid=0x%x,lresp=%d,llat=%d,minlat=%d,avglat=%d,maxlat=%d",
				uint64(c.session.id), opWord(c.lastOp), c.established.UnixMilli(), c.timeout.Milliseconds(), c.lastXid, uint64(c.lastZxid),
				c.arrived.Sub(f.s.started).Milliseconds(), t.last.Milliseconds(), t.quickest.Milliseconds(), t.total.Milliseconds()/max(t.answered, 1), t.slowest.Milliseconds())
		}
		b.WriteString(")\n")
	}
	return b.String() + "\n"
}

func (f *Front) conf() string {
	_, port, _ := strings.Cut(f.address, ":")
	return fmt.Sprintf("clientPort=%s\nsecureClientPort=-1\ndataDir=\ndataDirSize=0\ndataLogDir=\ndataLogSize=0\ntickTime=%d\nmaxClientCnxns=%d\n"+
		"minSessionTimeout=%d\nmaxSessionTimeout=%d\nclientPortListenBacklog=-1\nserverId=%d\n", cmp.Or(port, "-1"), f.s.cfg.Tick.Milliseconds(),
		f.s.cfg.MaxConnections, f.s.cfg.MinTimeout.Milliseconds(), f.s.cfg.MaxTimeout.Milliseconds(), f.index)
}

// envi has the real server's lines. Values that only Java has are "<NA>", as Java prints a missing
// one.
func (f *Front) envi() string {
	host, _ := os.Hostname() // it is not available then
	known := map[string]string{"zookeeper.version": f.s.dialect.banner(), "host.name": host, "os.name": runtime.GOOS, "os.arch": runtime.GOARCH}
	var b strings.Builder
	b.WriteString("Environment:\n")
	for key := range strings.FieldsSeq(environment) {
		b.WriteString(key + "=" + cmp.Or(known[key], "<NA>") + "\n")
	}
	return b.String()
}

const environment = `zookeeper.version host.name java.version java.vendor java.home java.class.path java.library.path
java.io.tmpdir java.compiler os.name os.arch os.version user.name user.home user.dir os.memory.free os.memory.max os.memory.total`

// descriptors is how many files the process has open, and may have; -1: the system doesn't tell.
func descriptors() (open, most int) {
	open, most = -1, -1
	if names, err := os.ReadDir("/dev/fd"); err == nil {
		open = len(names) - 1 // the folder itself
	}
	limits, _ := os.ReadFile("/proc/self/limits") // as above
	if _, rest, ok := strings.Cut(string(limits), "Max open files"); ok {
		_, _ = fmt.Sscan(rest, &most) // it may be a word: unlimited
	}
	return open, most
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

// interest is 1 for clients and 0 for those that only ask a four-letter word, as the real server's
// selector has it.
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
	k.put("version", f.s.dialect.banner())
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
	open, most := descriptors()
	k.put("open_file_descriptor_count", open)
	k.put("max_file_descriptor_count", most)
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

// wchp lists the sessions of the data watches by path. Like the real server it leaves out those on
// children.
func (f *Front) wchp() string {
	lists := make(map[string][]string)
	f.data.Each(func(path string, c *conn) {
		lists[path] = append(lists[path], fmt.Sprintf("\t0x%x\n", uint64(c.session.id)))
	})
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(lists)) {
		slices.Sort(lists[path])
		b.WriteString(path + "\n" + strings.Join(lists[path], ""))
	}
	return b.String() + "\n"
}

// wchs counts the data watches, as wchp lists them.
func (f *Front) wchs() string {
	conns, paths := make(map[*conn]struct{}), make(map[string]struct{})
	f.data.Each(func(path string, c *conn) { conns[c], paths[path] = struct{}{}, struct{}{} })
	return fmt.Sprintf("%d connections watching %d paths\nTotal watches:%d\n", len(conns), len(paths), f.data.Len())
}

const date = "Mon Jan 02 15:04:05 MST 2006" // as Java writes it

// dumpWord lists sessions, and their ephemerals.
func (f *Front) dumpWord() string {
	var b strings.Builder
	b.WriteString("SessionTracker dump:\n")
	if len(f.s.fronts) == 1 || f.leads() {
		f.s.sessionSets(&b)
	} else {
		f.s.globalSessions(&b)
	}
	owners := f.tree.EphemeralOwners()
	fmt.Fprintf(&b, "ephemeral nodes dump:\nSessions with Ephemerals (%d):\n", len(owners))
	for _, id := range owners {
		fmt.Fprintf(&b, "0x%x:\n", uint64(id))
		for _, path := range f.tree.Ephemerals(id) {
			b.WriteString("\t" + path + "\n")
		}
	}
	b.WriteString(f.connectionSets())
	return b.String()
}

// sessionSets lists sessions by the time at which they expire, as who counts it does.
func (s *Server) sessionSets(b *strings.Builder) {
	byTick := make(map[int64][]string)
	for _, ss := range s.sorted() {
		byTick[ss.deadline] = append(byTick[ss.deadline], fmt.Sprintf("\t0x%x\n", uint64(ss.id)))
	}
	fmt.Fprintf(b, "Session Sets (%d)/(%d):\n", len(byTick), len(s.sessions))
	for _, tick := range slices.Sorted(maps.Keys(byTick)) {
		fmt.Fprintf(b, "%d expire at %s:\n%s", len(byTick[tick]), s.tickTime(tick).UTC().Format(date), strings.Join(byTick[tick], ""))
	}
}

// globalSessions lists sessions with their timeouts, which is all that a follower knows.
func (s *Server) globalSessions(b *strings.Builder) {
	fmt.Fprintf(b, "Global Sessions(%d):\n", len(s.sessions))
	for _, ss := range s.sorted() {
		fmt.Fprintf(b, "0x%x\t%dms\n", uint64(ss.id), ss.timeout.Milliseconds())
	}
}

// connectionSets lists connections by the time until which the real server would keep them without
// a word from them: their timeout, or ten seconds for those without a session, at whole multiples
// of ten seconds.
func (f *Front) connectionSets() string {
	const without = 10 * time.Second
	sets := make(map[time.Time][]string)
	for _, c := range f.sortedConns() {
		id, timeout := uint64(0), without
		if c.session != nil {
			id, timeout = uint64(c.session.id), c.timeout
		}
		until := c.arrived.Add(timeout).Truncate(without).Add(without)
		sets[until] = append(sets[until], fmt.Sprintf("\tip: /%s sessionId: 0x%x\n", c.transport.RemoteAddr(), id))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Connections dump:\nConnections Sets (%d)/(%d):\n", len(sets), len(f.conns))
	for _, until := range slices.SortedFunc(maps.Keys(sets), time.Time.Compare) {
		fmt.Fprintf(&b, "%d expire at %s:\n%s", len(sets[until]), until.UTC().Format(date), strings.Join(sets[until], ""))
	}
	return b.String()
}
