package zktest_test

// Our server beside a real one: speed, and processor time.

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// BenchmarkBesideTheRealServer is `troupe server` beside a real server, each in a process of its
// own: requests with 1 and with 64 in flight on one connection. They take turns, a batch each, so
// that noise falls on both alike. Reported are requests per second and CPU time per request, of
// both, and their ratios. The real server is started as in production, but without syncing to disk;
// TMPDIR=/dev/shm keeps its data in memory.
func BenchmarkBesideTheRealServer(b *testing.B) {
	requests := []struct {
		name string
		next func(i int) jute.Request
	}{
		{"get", func(int) jute.Request { return jute.Request{Op: jute.OpGetData, Path: "/a"} }},
		{"exists", func(int) jute.Request { return jute.Request{Op: jute.OpExists, Path: "/a"} }},
		{"set", func(int) jute.Request {
			return jute.Request{Op: jute.OpSetData, Path: "/a", Data: make([]byte, 100), Version: -1}
		}},
		{"create", func(i int) jute.Request { return create(fmt.Sprintf("/a/%09d", i), 0) }},
	}
	ours, real := benchOurs(b), benchReal(b)
	for _, kind := range requests {
		for _, inFlight := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/inflight=%d", kind.name, inFlight), func(b *testing.B) {
				x, y := newLoad(b, ours, kind.next), newLoad(b, real, kind.next)
				batch := 200 * inFlight
				x.run(b, batch, inFlight) // warm
				y.run(b, batch, inFlight)
				x.reset(b)
				y.reset(b)
				b.ResetTimer()
				for done := 0; done < b.N; done += batch {
					x.run(b, batch, inFlight)
					y.run(b, batch, inFlight)
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(x.perSecond(), "ours-req/s")
				b.ReportMetric(y.perSecond(), "real-req/s")
				b.ReportMetric(x.perSecond()/y.perSecond(), "speed-ratio")
				b.ReportMetric(x.cpu(b), "ours-cpu-µs/req")
				b.ReportMetric(y.cpu(b), "real-cpu-µs/req")
				b.ReportMetric(x.cpu(b)/y.cpu(b), "cpu-ratio")
				if b.N < 10_000 {
					return // too few to tell
				}
				least := map[int]float64{1: 1, 64: 3}[inFlight]
				require.GreaterOrEqual(b, x.perSecond()/y.perSecond(), least, "what is promised")
				require.LessOrEqual(b, x.cpu(b)/y.cpu(b), 0.5, "what is promised")
			})
		}
	}
}

// target is a server in a process of its own.
type target struct {
	address string
	pid     int
}

func benchOurs(b *testing.B) target {
	program := filepath.Join(b.TempDir(), "troupe")
	out, err := exec.Command("go", "build", "-o", program, "../cmd/troupe").CombinedOutput()
	require.NoError(b, err, "%s", out)
	cmd := exec.Command(program, "server", "--listen", "127.0.0.1:0", "--max-session-timeout", "10m")
	stdout, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	b.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(b, err)
	return target{strings.TrimSpace(strings.TrimPrefix(line, "listening on ")), cmd.Process.Pid}
}

func benchReal(b *testing.B) target {
	e := ensemble.Start(b, 1, ensemble.WithConfig("maxSessionTimeout", "600000"),
		ensemble.WithJVM("-XX:TieredStopAtLevel=4", "-Xms1g", "-Xmx1g", "-Xss1m"))
	return target{e.Servers()[0], javaChild(b)}
}

// javaChild is the process that the ensemble has started.
func javaChild(b *testing.B) int {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(b, err)
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		pid, rest, _ := strings.Cut(string(text), " (")
		if fields := strings.Fields(rest[strings.LastIndex(rest, ")")+1:]); strings.HasPrefix(rest, "java)") && fields[1] == strconv.Itoa(os.Getpid()) {
			n, err := strconv.Atoi(pid)
			require.NoError(b, err)
			return n
		}
	}
	b.Fatal("no Java among the children; this needs Linux")
	return 0
}

// cpuOf is the CPU time that a process has used.
func cpuOf(b *testing.B, pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(b, err)
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	const user, system, tick = 11, 12, 10 * time.Millisecond
	var sum time.Duration
	for _, i := range []int{user, system} {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		require.NoError(b, err)
		sum += time.Duration(n) * tick
	}
	return sum
}

// load is one client's requests to one server.
type load struct {
	to       target
	conn     net.Conn
	in       *bufio.Reader
	next     func(i int) jute.Request
	buf      []byte
	sent     int
	took     time.Duration
	requests int
	before   time.Duration // CPU time of the server
}

func newLoad(b *testing.B, to target, next func(i int) jute.Request) *load {
	conn, err := net.Dial("tcp", to.address)
	require.NoError(b, err)
	b.Cleanup(func() { conn.Close() })
	c, err := greet(conn, jute.ConnectRequest{Timeout: 600_000, Password: make([]byte, 16)})
	require.NoError(b, err)
	if p, err := c.do(create("/a", 0)); err != nil || p.Err != jute.OK { // left by the benchmark before
		c.clear(b, "/a")
	}
	conn.SetDeadline(time.Time{})
	return &load{to: to, conn: conn, in: bufio.NewReaderSize(conn, 64<<10), next: next, buf: make([]byte, 0, 1<<16)}
}

// clear deletes a znode's children.
func (c *raw) clear(b *testing.B, path string) {
	p, err := c.do(jute.Request{Op: jute.OpGetChildren, Path: path})
	require.NoError(b, err)
	for len(p.Names) > 0 {
		n := min(len(p.Names), 500)
		var all []jute.Request
		for _, name := range p.Names[:n] {
			all = append(all, jute.Request{Op: jute.OpDelete, Path: path + "/" + name, Version: -1})
		}
		p.Names = p.Names[n:]
		require.NoError(b, c.post(all))
		_, err := c.collect(all)
		require.NoError(b, err)
	}
}

func (l *load) reset(b *testing.B) {
	l.took, l.requests, l.before = 0, 0, cpuOf(b, l.to.pid)
}

func (l *load) perSecond() float64 { return float64(l.requests) / l.took.Seconds() }

func (l *load) cpu(b *testing.B) float64 {
	return float64((cpuOf(b, l.to.pid) - l.before).Microseconds()) / float64(l.requests)
}

// run keeps so many requests in flight.
func (l *load) run(b *testing.B, n, inFlight int) {
	began := time.Now()
	var w jute.Writer
	for sent, done := 0, 0; done < n; {
		w.Reset(l.buf[:0])
		for sent < n && sent-done < inFlight {
			sent++
			l.sent++
			q := l.next(l.sent)
			q.Xid = int32(l.sent)
			w.Begin()
			q.Encode(&w)
			w.End()
		}
		if w.Len() > 0 {
			if _, err := l.conn.Write(w.Bytes()); err != nil {
				b.Fatal(err)
			}
		}
		for first := true; first || l.in.Buffered() > 4; first = false {
			var head [20]byte
			if _, err := io.ReadFull(l.in, head[:]); err != nil {
				b.Fatal(err)
			}
			if code := int32(binary.BigEndian.Uint32(head[16:])); code != 0 {
				b.Fatal(jute.Code(code))
			}
			if _, err := l.in.Discard(int(binary.BigEndian.Uint32(head[:])) - 16); err != nil {
				b.Fatal(err)
			}
			done++
		}
	}
	l.took += time.Since(began)
	l.requests += n
}
