package zktest_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/zktest"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

var (
	diffOps  = flag.Int("diff.ops", 2000, "operations of the differential test")
	diffSeed = flag.Uint64("diff.seed", 0, "seed of the differential test; 0: a new one")
)

// twins is the same client on both servers.
type twins struct {
	ours, real *raw
}

// differ sends the same to our server and to the real one, in lock step, and compares everything that comes back.
type differ struct {
	t          *testing.T
	rnd        *rand.Rand
	ours, real string // addresses
	pairs      []*twins
	offset     int64 // real zxid - ours
	ids        map[int64]int64
	log        []string
}

func (d *differ) fatalf(format string, args ...any) {
	d.t.Helper()
	tail := d.log[max(0, len(d.log)-25):]
	d.t.Fatalf("%s\nthe last requests:\n%s", fmt.Sprintf(format, args...), strings.Join(tail, "\n"))
}

func dialTCP(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	return conn
}

func (d *differ) open(old *twins) *twins {
	qo := jute.ConnectRequest{Timeout: 30000, Password: make([]byte, 16)}
	qr := qo
	if old != nil {
		qo.SessionID, qo.Password, qo.LastZxidSeen = old.ours.session, old.ours.password, old.ours.seen
		qr.SessionID, qr.Password, qr.LastZxidSeen = old.real.session, old.real.password, old.real.seen
	}
	a, err := greet(dialTCP(d.t, d.ours), qo)
	require.NoError(d.t, err)
	b, err := greet(dialTCP(d.t, d.real), qr)
	require.NoError(d.t, err)
	if a.timeout != b.timeout || (a.session == 0) != (b.session == 0) {
		d.fatalf("handshake: ours %+v, real %+v", a, b)
	}
	d.ids[b.session] = a.session
	if old != nil {
		a.xid, b.xid = old.ours.xid, old.real.xid
	}
	return &twins{a, b}
}

// align finds the distance between the two servers' zxids.
func (d *differ) align() {
	p := d.pairs[0]
	a, err := p.ours.do(jute.Request{Op: jute.OpSync, Path: "/"})
	require.NoError(d.t, err)
	b, err := p.real.do(jute.Request{Op: jute.OpSync, Path: "/"})
	require.NoError(d.t, err)
	d.offset = b.Zxid - a.Zxid
}

// normal makes a reply of the real server comparable.
func (d *differ) normalStat(s *jute.Stat, real bool) {
	s.Ctime, s.Mtime = 0, 0
	if !real {
		return
	}
	for _, z := range []*int64{&s.Czxid, &s.Mzxid, &s.Pzxid} {
		if *z > 0 {
			*z -= d.offset
		}
	}
	if id, ok := d.ids[s.EphemeralOwner]; ok {
		s.EphemeralOwner = id
	}
}

func (d *differ) normal(p jute.Reply, real bool) jute.Reply {
	if real && p.Zxid > 0 {
		p.Zxid -= d.offset
	}
	d.normalStat(&p.Stat, real)
	for i := range p.Results {
		d.normalStat(&p.Results[i].Stat, real)
	}
	for i := range p.Results {
		slices.Sort(p.Results[i].Names)
	}
	slices.SortFunc(p.Identity, func(a, b jute.Identity) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	// All come out of Java's hash sets: of children, and of the identities that "auth" stands for.
	slices.Sort(p.Names)
	slices.SortFunc(p.ACL, func(a, b jute.ACL) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return p
}

func (d *differ) do(who int, q jute.Request) {
	d.t.Helper()
	d.doEach(who, q, func(q jute.Request) jute.Request { return q })
}

func (d *differ) doEach(who int, q jute.Request, forReal func(jute.Request) jute.Request) {
	d.t.Helper()
	d.log = append(d.log, fmt.Sprintf("session %d: %s", who, describe(q)))
	p := d.pairs[who]
	a, errA := p.ours.do(q)
	b, errB := p.real.do(forReal(q))
	if (errA == nil) != (errB == nil) {
		d.fatalf("ours %+v %v, real %+v %v", a, errA, b, errB)
	}
	a, b = d.normal(a, false), d.normal(b, true)
	if !slicesEqual(a, b) {
		d.fatalf("ours %+v\nreal %+v", a, b)
	}
	if errA != nil {
		d.pairs[who] = d.open(p)
	}
	d.events(q.Op == jute.OpSync && q.Path == closed)
}

// closed marks the sync after the end of a session: the real server deletes its ephemerals in the order of a hash set.
const closed = "/closed"

func (d *differ) events(anyOrder bool) {
	for i, p := range d.pairs {
		a, errA := p.ours.drain()
		b, errB := p.real.drain()
		require.NoError(d.t, errA)
		require.NoError(d.t, errB)
		if anyOrder {
			byText := func(a, b jute.Event) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) }
			slices.SortFunc(a, byText)
			slices.SortFunc(b, byText)
		}
		if !slices.Equal(a, b) {
			d.fatalf("events of session %d: ours %+v\nreal %+v", i, a, b)
		}
	}
}

// describe shows a request's fields that are set.
func describe(q jute.Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v %q", q.Op, q.Path)
	v := reflect.ValueOf(q)
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if f := v.Field(i); !f.IsZero() && name != "Op" && name != "Path" && name != "Ops" {
			fmt.Fprintf(&b, " %s=%v", name, f)
		}
	}
	for _, part := range q.Ops {
		b.WriteString("\n\t\t" + describe(part))
	}
	return b.String()
}

func slicesEqual(a, b jute.Reply) bool { return fmt.Sprintf("%#v", a) == fmt.Sprintf("%#v", b) }

// tree compares everything below a path.
func (d *differ) tree(path string) {
	d.do(0, jute.Request{Op: jute.OpGetData, Path: path})
	d.do(0, jute.Request{Op: jute.OpGetACL, Path: path})
	d.do(0, jute.Request{Op: jute.OpGetChildren2, Path: path})
	for _, name := range d.children(path) {
		d.tree(name)
	}
}

func (d *differ) children(path string) (all []string) {
	d.t.Helper()
	p, err := d.pairs[0].ours.do(jute.Request{Op: jute.OpGetChildren2, Path: path})
	require.NoError(d.t, err)
	_, err = d.pairs[0].real.do(jute.Request{Op: jute.OpGetChildren2, Path: path})
	require.NoError(d.t, err)
	for _, name := range p.Names {
		all = append(all, strings.TrimSuffix(path, "/")+"/"+name)
	}
	return all
}

// prune deletes what may be deleted, so that trees stay small.
func (d *differ) prune(path string) {
	for _, child := range d.children(path) {
		if child != "/zookeeper" {
			d.prune(child)
			d.do(0, jute.Request{Op: jute.OpDelete, Path: child, Version: -1})
		}
	}
}

func newDiffer(t *testing.T) *differ {
	t.Helper()
	seed := *diffSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-diff.seed=%d -diff.ops=%d", seed, *diffOps)
	// Containers go when somebody looks, and the two servers would not look at the same moment.
	s := zktest.Start(t, zktest.WithTick(200*time.Millisecond), zktest.WithSessionTimeouts(400*time.Millisecond, time.Minute),
		zktest.WithContainerCheck(24*time.Hour))
	real := ensemble.Start(t, 1, ensemble.WithJVM("-Dznode.container.checkIntervalMs=86400000")).Servers()[0]
	d := &differ{t: t, rnd: rand.New(rand.NewPCG(seed, 1)), ours: s.Servers()[0], real: real, ids: make(map[int64]int64)}
	for range 3 {
		d.pairs = append(d.pairs, d.open(nil))
	}
	d.align()
	return d
}

// The same long random sequence of operations, from several sessions, gives the same replies, events and tree as on a real server.
func TestDifferential(t *testing.T) {
	t.Parallel()
	d := newDiffer(t)
	for i := range *diffOps {
		d.step()
		if i%1000 == 999 {
			d.tree("/")
			d.prune("/")
		}
	}
	d.tree("/")
}

// The same requests cut short, overlong and garbled are answered like the real server does, or end the connection like there.
func TestDifferentialHostile(t *testing.T) {
	t.Parallel()
	d := newDiffer(t)
	for i := range *diffOps {
		d.hostile()
		if i%1000 == 999 {
			d.prune("/")
		}
	}
	d.tree("/")
}
