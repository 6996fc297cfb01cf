package zktest_test

// go-zookeeper's client is a second opinion: the stories of testdata/opinions.txt are told through
// it and through our own frames, and both must say the same of a server. The answers in that file
// were a real server's, and the gate holds the embedded one against them.

import (
	"flag"
	"fmt"
	"net"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/zktest"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

const opinions = "testdata/opinions.txt"

var updateOpinions = flag.Bool("update", false, "write the answers of the real server to "+opinions)

// row is a line of a story.
type row struct {
	asked  string // the line without what was heard
	by     int
	act    string // an operation, or what happens to the session
	q      jute.Request
	cannot string // what go-zookeeper can't say
}

func parse(t *testing.T, line string) row {
	t.Helper()
	asked, _, _ := strings.Cut(line, " =>")
	request, cannot, _ := strings.Cut(asked, " | ")
	by, request, _ := strings.Cut(request, " ")
	q, act := parseRequest(t, request)
	i, err := strconv.Atoi(by)
	require.NoError(t, err, line)
	return row{asked, i, act, q, cannot}
}

// parseRequest reads an operation, its path, and what else it has; or a transaction.
func parseRequest(t *testing.T, text string) (q jute.Request, act string) {
	t.Helper()
	act, rest, _ := strings.Cut(text, " ")
	for op := jute.OpCloseSession; op < 120; op++ {
		if op.String() == act {
			q.Op = op
		}
	}
	switch q.Op {
	case jute.OpMulti, jute.OpMultiRead:
		for part := range strings.SplitSeq(rest, " ; ") {
			if part != "" {
				one, _ := parseRequest(t, part)
				q.Ops = append(q.Ops, one)
			}
		}
		return q, act
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL:
		q.Data = []byte("data")
	case jute.OpReconfig:
		q.Names, q.Zxid = []string{"", "", ""}, -1
	case jute.OpPing:
		q.Xid = jute.XidPing
	}
	q.ACL, q.Version = jute.OpenACL(), -1
	numbers := map[string]*int32{"flags": &q.Flags, "version": &q.Version, "kind": &q.Kind}
	lists := map[string]*[]string{"dataw": &q.DataW, "exist": &q.ExistW, "child": &q.ChildW, "persist": &q.PersistW, "recursive": &q.RecursW}
	for word := range strings.FieldsSeq(rest) {
		word, err := strconv.Unquote(`"` + strings.Trim(word, `"`) + `"`)
		require.NoError(t, err)
		key, value, _ := strings.Cut(word, "=")
		switch {
		case numbers[key] != nil:
			n, err := strconv.ParseInt(value, 10, 32)
			require.NoError(t, err)
			*numbers[key] = int32(n)
		case lists[key] != nil:
			*lists[key] = strings.Split(value, ",")
		case key == "ttl":
			q.TTL, err = strconv.ParseInt(value, 10, 64)
			require.NoError(t, err)
		case key == "data":
			q.Data = []byte(value)
		case key == "acl":
			q.ACL = acls[value]
		case key == "scheme":
			q.Scheme = value
		case key == "watch":
			q.Watch = true
		default:
			q.Path = word
		}
	}
	return q, act
}

var acls = map[string][]jute.ACL{
	"none": nil, "auth": {{Perms: jute.PermAll, Scheme: "auth"}}, "read": {{Perms: jute.PermRead, Scheme: "world", ID: "anyone"}},
	"auth+read": {{Perms: jute.PermAll, Scheme: "auth"}, {Perms: jute.PermRead, Scheme: "world", ID: "anyone"}},
}

// heard is the outcome of a row. An empty field was not said.
type heard struct {
	text, stat, zxid string
	events           []string
}

func (h heard) String() string {
	return strings.Join(append([]string{strings.Join(strings.Fields(h.text+" "+h.stat+" "+h.zxid), " ")}, h.events...), "\n\t")
}

// telling is a story that is being told.
type telling struct {
	t     *testing.T
	dial  func() (net.Conn, error)
	by    [3]asker
	away  [3]bool
	ids   map[int64]string // of the sessions
	began int64            // the last zxid before
}

func (g *telling) zxid(z int64) string {
	if z <= 0 {
		return ""
	}
	return fmt.Sprintf("+%d", z-g.began)
}

func (g *telling) stat(s jute.Stat) string {
	if s == (jute.Stat{}) {
		return ""
	}
	return fmt.Sprintf("{%s %s %s v%d,%d,%d %s %d %d}", g.zxid(s.Czxid), g.zxid(s.Mzxid), g.zxid(s.Pzxid), s.Version, s.Cversion, s.Aversion,
		g.ids[s.EphemeralOwner], s.DataLength, s.NumChildren)
}

var protectedName = regexp.MustCompile(`_c_[0-9a-f]{32}-`)

// reply leaves out times, and sorts what servers keep in hash sets.
func (g *telling) reply(p jute.Reply) heard {
	text := p.Err.String()
	for _, part := range []any{p.Path, string(p.Data), sorted(p.Names), sorted(p.ACL), p.Count, sorted(p.Identity)} {
		if s := fmt.Sprint(part); s != "" && s != "[]" && s != "0" {
			text += " " + s
		}
	}
	for _, r := range p.Results {
		text += fmt.Sprintf("; %s %s %s %s %v", r.Err.String(), r.Path, r.Data, g.stat(r.Stat), sorted(r.Names))
	}
	return heard{text: protectedName.ReplaceAllString(text, guid), stat: g.stat(p.Stat), zxid: g.zxid(p.Zxid)}
}

func sorted[T any](all []T) []T {
	slices.SortFunc(all, func(a, b T) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return all
}

// tell has our client tell a story or, of what that heard first, go-zookeeper.
func tell(t *testing.T, rows []row, dial func() (net.Conn, error), first []heard) (all []heard) {
	t.Helper()
	admin := newPlain(t, dial)
	admin.ask(jute.Request{Op: jute.OpSetAuth, Scheme: "digest", Data: []byte("super:" + superPassword)})
	g := &telling{t: t, dial: dial, ids: map[int64]string{0: "nobody"}}
	for i := range g.by {
		if first == nil || i == 2 {
			g.by[i] = newPlain(t, dial)
		} else {
			g.by[i] = newLibrary(t, dial)
		}
	}
	now, _, _ := admin.ask(jute.Request{Op: jute.OpSync, Path: "/"})
	g.began = now.Zxid
	for n, r := range rows {
		h := g.row(r)
		for i, c := range g.by {
			if g.away[i] {
				continue
			}
			prefix, least := fmt.Sprint(i, " is told "), 0
			if first != nil {
				least = len(slices.DeleteFunc(slices.Clone(first[n].events), func(e string) bool { return !strings.HasPrefix(e, prefix) }))
			}
			events := c.events(least)
			if r.act == "returns" { // go-zookeeper names its watches in any order
				sorted(events)
			}
			for _, e := range events {
				h.events = append(h.events, fmt.Sprintf("%s%v %s, state %d", prefix, e.Type, e.Path, e.State))
			}
		}
		all = append(all, h)
	}
	g.look(admin, "/", &all)
	for i, c := range g.by {
		if !g.away[i] {
			c.ask(jute.Request{Op: jute.OpCloseSession})
		}
	}
	prune(admin, "/")
	admin.ask(jute.Request{Op: jute.OpCloseSession})
	return all
}

func (g *telling) row(r row) (h heard) {
	g.t.Helper()
	c := g.by[r.by]
	id, password := c.session()
	g.ids[id] = fmt.Sprint("session-", r.by)
	switch r.act {
	case "leaves":
		c.leave()
		g.away[r.by] = true
	case "is-ended":
		other := &plain{t: g.t, dial: g.dial}
		other.greet(&raw{session: id, password: password})
		other.ask(jute.Request{Op: jute.OpCloseSession})
	case "returns":
		h.text = fmt.Sprint("the same session: ", c.comeBack(r.q))
		g.away[r.by] = false
	default:
		p, asked, cannot := c.ask(r.q)
		if _, is := c.(*library); is {
			require.Equal(g.t, r.cannot, cannot, r.asked)
		}
		if !asked {
			p, _, _ = g.by[2].ask(r.q)
		}
		h = g.reply(p)
		g.away[r.by] = p.Err == jute.AuthFailed || r.q.Op == jute.OpCloseSession
	}
	h.text = r.asked + " => " + h.text
	return h
}

// look reads the tree as it is left.
func (g *telling) look(admin *plain, path string, all *[]heard) {
	for _, child := range children(admin, path) {
		p, _, _ := admin.ask(jute.Request{Op: jute.OpGetData, Path: child})
		acl, _, _ := admin.ask(jute.Request{Op: jute.OpGetACL, Path: child})
		p.ACL = acl.ACL
		h := g.reply(p)
		h.text = protectedName.ReplaceAllString(child, guid) + ": " + h.text
		*all = append(*all, h)
		g.look(admin, child, all)
	}
}

// children are the paths of all but ZooKeeper's own.
func children(admin *plain, path string) (all []string) {
	p, _, _ := admin.ask(jute.Request{Op: jute.OpGetChildren, Path: path})
	for _, name := range sorted(p.Names) {
		if name != "zookeeper" {
			all = append(all, strings.TrimSuffix(path, "/")+"/"+name)
		}
	}
	return all
}

func prune(admin *plain, path string) {
	for _, child := range children(admin, path) {
		prune(admin, child)
		admin.ask(jute.Request{Op: jute.OpDelete, Path: child, Version: -1})
	}
}

// agree tells a story through both clients, and returns it with what they agree on.
func agree(t *testing.T, story string, dial func() (net.Conn, error)) string {
	t.Helper()
	lines := strings.Split(story, "\n")
	var rows []row
	for _, line := range lines[1:] {
		if line != "" && strings.Contains("012", line[:1]) {
			rows = append(rows, parse(t, line))
		}
	}
	first := tell(t, rows, dial, nil)
	second := tell(t, rows, dial, first)
	require.Len(t, second, len(first))
	text := lines[0] + "\n"
	for i, h := range first {
		text += h.String() + "\n"
		if i < len(rows) && rows[i].by < 2 {
			if second[i].zxid == "" { // go-zookeeper never shows it
				h.zxid = ""
			}
			if rows[i].cannot == "hides the stat" {
				h.stat = ""
			}
		}
		require.Equal(t, h, second[i], "go-zookeeper second")
	}
	return text
}

// read returns the version of the server that answered, and the stories.
func read(t *testing.T) (version, preface string, stories []string) {
	t.Helper()
	text, err := os.ReadFile(opinions)
	require.NoError(t, err)
	preface, rest, _ := strings.Cut(string(text), "\n# ")
	version, _, _ = strings.Cut(preface, "\n")
	return version, preface, strings.Split(rest, "\n# ")
}

// Both clients say of the embedded server what they said of the real one. The newest version
// answers alike where versions don't differ.
func TestTwoClientsAgree(t *testing.T) {
	t.Parallel()
	recorded, _, stories := read(t)
	for _, story := range stories {
		name, _, _ := strings.Cut(story, "\n")
		for _, version := range []string{recorded, ""} {
			if version == "" && strings.Contains(name, "versions differ") {
				continue
			}
			t.Run(name+" "+version, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					require.Equal(t, strings.TrimSpace(story)+"\n", agree(t, story, embedded(t, version)), "the real server first")
				})
			})
		}
	}
}

func embedded(t *testing.T, version string) (dial func() (net.Conn, error)) {
	t.Helper()
	server := zktest.Start(t, zktest.WithVersion(version), zktest.WithSuper(superPassword), zktest.WithContainerCheck(24*time.Hour),
		zktest.WithSessionTimeouts(400*time.Millisecond, unused))
	return func() (net.Conn, error) { return server.DialTimeout("tcp", server.Hosts()[0], time.Second) }
}

// Both say the same of a real server, and of ours of its version.
func TestTwoClientsAgreeOnARealServer(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	real := ensemble.Start(t, 1, realLike(24*time.Hour)...)
	version, err := real.Version()
	require.NoError(t, err)
	recorded, text, stories := read(t)
	text = version + strings.TrimPrefix(text, recorded)
	for _, story := range stories {
		said := agree(t, story, func() (net.Conn, error) { return net.Dial("tcp", real.Servers()[0]) })
		text += "\n# " + said
		require.Equal(t, said, agree(t, story, embedded(t, nearest(t, version))), "the real server first")
	}
	if *updateOpinions {
		require.NoError(t, os.WriteFile(opinions, []byte(text), 0o600))
	}
}

// go-zookeeper has no method for what it is said not to have one for.
func TestWhatGoZookeeperLacks(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(opinions)
	require.NoError(t, err)
	for _, lack := range regexp.MustCompile(`has no (\w+)`).FindAllStringSubmatch(string(text), -1) {
		_, has := reflect.TypeFor[*zk.Conn]().MethodByName(lack[1])
		require.False(t, has, lack[1])
	}
}
