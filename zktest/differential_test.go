package zktest_test

// Random operations, sent to our server and to a real one in lock step: every reply, every event,
// every zxid and the trees are compared. How many there are is a budget: few in tier real, the rest
// in soak.

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/zktest"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

var (
	diffOps  = flag.Int("diff.ops", tier.Count(5_000, 200_000), "operations of the differential test")
	diffSeed = flag.Uint64("diff.seed", 0, "seed of the differential test; 0: the usual one")
)

// superPassword is the administrator's on both servers, superDigest what the real one is told of
// it.
const (
	superPassword = "secret"
	superDigest   = "super:lK75jTNcA+U9vtVEw5vB51mj/w4="
)

// twins is the same client on both servers.
type twins struct {
	ours, real *raw
}

// differ sends the same to our server and to the real one, in lock step, and compares everything
// that comes back.
type differ struct {
	t          *testing.T
	rnd        *rand.Rand
	ours, real string // addresses
	pairs      []*twins
	admin      *twins // super user, who looks at everything and tidies up
	offset     int64  // real zxid - ours
	ids        map[int64]int64
	log        []string // what was sent last
	done       int      // operations
}

// remember notes what was sent last, to be shown if something differs.
func (d *differ) remember(p *twins, what any) {
	const most = 40
	if len(d.log) == most {
		d.log = d.log[1:]
	}
	d.log = append(d.log, fmt.Sprintf("%s: %+v", d.name(p), what))
}

func (d *differ) name(p *twins) string {
	if i := slices.Index(d.pairs, p); i >= 0 {
		return fmt.Sprint("session ", i)
	}
	return "admin"
}

func (d *differ) fatalf(format string, args ...any) {
	d.t.Helper()
	d.t.Fatalf("%s\nafter %d operations; the last requests:\n%s", fmt.Sprintf(format, args...), d.done, strings.Join(d.log, "\n"))
}

// unused is for how long a session may lie unused, by the clock of a machine that has little time.
const unused = 10 * time.Minute

// open opens a session on both servers, or takes one up again.
func (d *differ) open(old *twins) *twins {
	qo := jute.ConnectRequest{Timeout: int32(unused.Milliseconds()), Password: make([]byte, 16)}
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
	a, err := d.admin.ours.do(jute.Request{Op: jute.OpSync, Path: "/"})
	require.NoError(d.t, err)
	b, err := d.admin.real.do(jute.Request{Op: jute.OpSync, Path: "/"})
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
		slices.Sort(p.Results[i].Names)
	}
	// All come out of Java's hash sets: of children, of the identities that "auth" stands for, and
	// of those that a connection has.
	slices.SortFunc(p.Identity, func(a, b jute.Identity) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	slices.Sort(p.Names)
	slices.SortFunc(p.ACL, func(a, b jute.ACL) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return p
}

// do sends one request to both and compares what comes back, which it returns.
func (d *differ) do(p *twins, q jute.Request) jute.Reply {
	d.t.Helper()
	all := d.doAll(p, []jute.Request{q}, []jute.Request{q})
	if len(all) == 0 {
		return jute.Reply{}
	}
	return all[len(all)-1].reply
}

// doAll sends some requests of one session at once, so that all are in flight together, and
// compares the streams of replies and events.
func (d *differ) doAll(p *twins, forOurs, forReal []jute.Request) []arrival {
	d.t.Helper()
	for _, q := range forOurs {
		d.remember(p, q)
	}
	d.done += len(forOurs)
	// The real server first: it has more to do.
	require.NoError(d.t, p.real.post(forReal))
	require.NoError(d.t, p.ours.post(forOurs))
	a, errA := p.ours.collect(forOurs)
	b, errB := p.real.collect(forReal)
	for i := range a {
		a[i].reply = d.normal(a[i].reply, false)
	}
	for i := range b {
		b[i].reply = d.normal(b[i].reply, true)
	}
	d.compare(p, a, b)
	if (errA == nil) != (errB == nil) {
		d.fatalf("%s: ours %v, real %v", d.name(p), errA, errB)
	}
	if errA != nil || d.endedBehind(p, forOurs[0], a) {
		d.replace(p, p)
	}
	return a
}

// endedBehind reports whether the servers end the connection behind this answer, and sees to it
// that both do.
func (d *differ) endedBehind(p *twins, q jute.Request, answer []arrival) bool {
	d.t.Helper()
	lone := q.Op == jute.OpCheck || q.Op == jute.OpDeleteContainer
	if !lone || len(answer) == 0 || answer[len(answer)-1].reply.Err != jute.Unimplemented {
		return false
	}
	another := []jute.Request{q}
	a, errA := p.ours.collect(another)
	b, errB := p.real.collect(another)
	if len(a)+len(b) != 0 || errA == nil || errB == nil {
		d.fatalf("%s: behind an unknown request: ours %v %v, real %v %v", d.name(p), a, errA, b, errB)
	}
	return true
}

// compare looks at what both servers said to a session: the same replies, and the same events at
// the same places between them.
func (d *differ) compare(p *twins, a, b []arrival) {
	d.t.Helper()
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || !reflect.DeepEqual(a[i], b[i]) {
			d.fatalf("%s: what came %d.\nours %+v\nreal %+v", d.name(p), i+1, a[min(i, len(a)):], b[min(i, len(b)):])
		}
	}
}

// replace opens another connection in the place of one that is over. old is nil for a new session.
func (d *differ) replace(p, old *twins) {
	p.ours.conn.Close()
	p.real.conn.Close()
	again := d.open(old)
	p.ours, p.real = again.ours, again.real
	d.remember(p, "opened again")
}

// events has every session tell what it was told. Once in a while is enough, since each session's
// stream is compared whole and in order; but the end of a session makes events in any order: the
// real server deletes its ephemerals as they come out of a hash set.
func (d *differ) events(anyOrder bool) {
	d.t.Helper()
	ping := []jute.Request{{Xid: jute.XidPing, Op: jute.OpPing}}
	for _, p := range d.pairs {
		require.NoError(d.t, p.real.post(ping))
		require.NoError(d.t, p.ours.post(ping))
	}
	for _, p := range d.pairs {
		a, errA := p.ours.collect(ping)
		b, errB := p.real.collect(ping)
		require.NoError(d.t, errA)
		require.NoError(d.t, errB)
		a, b = a[:len(a)-1], b[:len(b)-1]
		if anyOrder {
			byText := func(a, b arrival) int { return strings.Compare(fmt.Sprint(a.event), fmt.Sprint(b.event)) }
			slices.SortFunc(a, byText)
			slices.SortFunc(b, byText)
		}
		d.compare(p, a, b)
	}
}

// tree compares everything below a path.
func (d *differ) tree(path string) {
	d.t.Helper()
	d.do(d.admin, jute.Request{Op: jute.OpGetData, Path: path})
	d.do(d.admin, jute.Request{Op: jute.OpGetACL, Path: path})
	for _, name := range d.children(path) {
		d.tree(name)
	}
}

func (d *differ) children(path string) (all []string) {
	d.t.Helper()
	for _, name := range d.do(d.admin, jute.Request{Op: jute.OpGetChildren2, Path: path}).Names {
		all = append(all, strings.TrimSuffix(path, "/")+"/"+name)
	}
	return all
}

// prune deletes what may be deleted, so that trees stay small.
func (d *differ) prune(path string) {
	d.t.Helper()
	for _, child := range d.children(path) {
		if child != "/zookeeper" {
			d.prune(child)
			d.do(d.admin, jute.Request{Op: jute.OpDelete, Path: child, Version: -1})
		}
	}
}

// checkpoint compares the whole trees and begins anew.
func (d *differ) checkpoint() {
	d.t.Helper()
	d.events(false)
	done := d.done
	d.tree("/")
	d.prune("/")
	d.done = done // these are extra
	d.events(false)
}

// newDiffer starts both servers. Containers go at the next check, and the two servers would not
// check at the same moment: so they hardly ever do.
func newDiffer(t *testing.T) *differ {
	t.Helper()
	real := ensemble.Start(t, 1, realLike(24*time.Hour)...)
	return pairUp(t, zktest.Start(t, likeReal(t, real, 24*time.Hour)...).Servers(), real.Servers())
}

// likeReal and realLike are the settings with which ours and the real server are the same, but for
// how often they look for containers.
func likeReal(t *testing.T, real *ensemble.Ensemble, containerCheck time.Duration) []zktest.Option {
	t.Helper()
	return []zktest.Option{
		asVersionOf(t, real), zktest.WithTick(200 * time.Millisecond), zktest.WithSessionTimeouts(400*time.Millisecond, unused),
		zktest.WithContainerCheck(containerCheck), zktest.WithSuper(superPassword),
	}
}

func realLike(containerCheck time.Duration) []ensemble.Option {
	return []ensemble.Option{ensemble.WithConfig("maxSessionTimeout", fmt.Sprint(unused.Milliseconds())), ensemble.WithJVM(fmt.Sprintf("-Dznode.container.checkIntervalMs=%d", containerCheck.Milliseconds()),
		"-Dzookeeper.DigestAuthenticationProvider.superDigest="+superDigest)}
}

// pairUp opens an administrator's session and three others.
func pairUp(t *testing.T, ours, real []string) *differ {
	t.Helper()
	seed := *diffSeed
	if seed == 0 {
		seed = tier.Seed(t.Name())
	}
	t.Logf("-diff.seed=%d -diff.ops=%d", seed, *diffOps)
	d := &differ{t: t, rnd: rand.New(rand.NewPCG(seed, 1)), ours: ours[0], real: real[0], ids: make(map[int64]int64)}
	d.admin = d.open(nil)
	d.align()
	d.do(d.admin, jute.Request{Xid: jute.XidAuth, Op: jute.OpSetAuth, Scheme: "digest", Data: []byte("super:" + superPassword)})
	for range 3 {
		d.pairs = append(d.pairs, d.open(nil))
	}
	return d
}

// The same long random sequence of operations, from several sessions, gives the same replies,
// events and tree as on a real server. Some are cut short, overlong or garbled, and answered like
// there, or the end of the connection.
func TestDifferential(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	d := newDiffer(t)
	for next := 2000; d.done < *diffOps; {
		if d.rnd.IntN(20) == 0 {
			d.garble()
		} else {
			d.step()
		}
		if d.done >= next {
			d.checkpoint()
			next += 2000
		}
	}
	d.checkpoint()
	t.Logf("%d operations compared", d.done)
}
