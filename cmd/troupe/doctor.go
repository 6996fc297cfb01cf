package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
)

// finding is one result of the doctor.
type finding struct {
	Severity string `json:"severity"` // one of those below
	Subject  string `json:"subject"`
	What     string `json:"what"`
	Advice   string `json:"advice"`
	told            // filled for a server that serves
}

const (
	healthy  = "ok"
	warning  = "warning"
	problem  = "problem"
	allow    = "4lw.commands.whitelist=srvr,conf,dump,wchp in zoo.cfg"
	patience = 3 * time.Second // with a server's answer to a word
	maxHeld  = 512             // bytes: the record of a holder is shorter
)

// examination is one run of the doctor.
type examination struct {
	*app
	limit    uint
	watches  bool
	findings []finding
	serving  []string      // addresses
	tick     time.Duration // the longest of all servers
}

// tree has the znodes of one reading, by their paths below the doctor's root. Of those that are
// listed by their parents some are not seen: the limit, or their ACL.
type tree struct {
	listed map[string]bool
	seen   map[string]session.Stat
}

func doctor(a *app) *cobra.Command {
	x := &examination{app: a}
	cmd := &cobra.Command{
		Use: "doctor [PATH...]", Short: "Examine the servers, and what crashed processes have left", Args: cobra.ArbitraryArgs, RunE: x.run,
		Long: `Examine each of --servers by itself, the ensemble, the session timeout, and the znodes from each PATH on, by default all. Nothing is changed.

A stale znode is a recipe's that should be ephemeral and is not, or an ephemeral one whose session no server lists. Orphans are the record of a lock's
dead holder (WithDelay) where nobody waits, and transactions of a two-phase commit without a coordinator. Only what two readings show is told. Also
listed are two contenders in a queue with the same GUID, and one that has been first for more than an hour while others wait. Their sessions live,
and only their processes can tell whether they still use them: see docs/operations.md.

Servers are asked the four-letter words srvr, conf, dump and, with --watches, wchp. The exit status is 1 if there is a problem, 0 for warnings alone.`,
	}
	cmd.Flags().UintVar(&x.limit, "limit", 10_000, "znodes to look at, at most")
	cmd.Flags().BoolVar(&x.watches, "watches", false, "count watches too, which is expensive for a server with many")
	return cmd
}

func (x *examination) run(cmd *cobra.Command, paths []string) error {
	if len(paths) == 0 {
		paths = []string{"/"}
	}
	for _, path := range paths {
		if err := znode.Validate(path); err != nil {
			return usage{fmt.Errorf("PATH %q: %w", path, err)}
		}
	}
	if err := x.to.settle(cmd); err != nil {
		return usage{err}
	}
	ctx := cmd.Context()
	addrs, root := addresses(x.to.Servers)
	root += x.to.Namespace
	if x.examineServers(ctx, addrs); len(x.serving) == 0 {
		return x.report()
	}
	x.to.Servers, x.to.Namespace = x.serving, "" // a namespace would be created when it is read: root goes before each path instead
	s, err := x.to.connect(cmd)
	if err != nil {
		x.add(problem, "session", explain(err), "")
		return x.report()
	}
	x.examineTimeout(s.Status().Timeout)
	return errors.Join(x.examineTree(ctx, s, root, paths), x.to.close(s), x.report())
}

func (x *examination) add(severity, subject, what, advice string) {
	x.findings = append(x.findings, finding{Severity: severity, Subject: subject, What: what, Advice: advice})
}

// report prints the findings. Problems are an error.
func (x *examination) report() (err error) {
	for _, f := range x.findings {
		if f.Severity == problem {
			err = errors.New("there are problems")
		}
		if f.Advice != "" {
			f.Advice = "\n         > " + escaped(f.Advice)
		}
		if !x.json {
			fmt.Fprintf(x.out, "%-7s  %s: %s%s\n", f.Severity, escaped(f.Subject), escaped(f.What), f.Advice)
		}
	}
	if x.json {
		err = errors.Join(asJSON(x.out, x.findings, "  "), err)
	}
	return err
}

// examineTimeout says for how long a possession is trusted with the timeout that the servers grant.
func (x *examination) examineTimeout(granted time.Duration) {
	given, severity, advice := time.Duration(x.to.Tick), healthy, ""
	what := fmt.Sprintf("timeout %v, asked for %v: what is held is trusted for %v after the last proof of life was sent",
		granted, x.to.Timeout, trust(granted, given))
	if x.tick > 0 && given != x.tick {
		advice = fmt.Sprintf("--tick %v, session.WithTick: trusted for %v", x.tick, trust(granted, x.tick))
	}
	if given == 0 && granted < 3*x.tick || given != 0 && given < x.tick {
		severity, what = problem, what+", which is too long for the servers' tick"
	}
	x.add(severity, "session", what, advice)
}

// trust is for how long a proof of life is good: see docs/operations.md.
func trust(timeout, tick time.Duration) time.Duration {
	return (timeout - max(timeout/4+cmp.Or(tick, timeout/2)/2, timeout/3, tick*3/2)).Truncate(time.Millisecond)
}

// examineServers asks each server, and compares their answers.
func (x *examination) examineServers(ctx context.Context, addrs []string) {
	modes, versions, settings := map[string]int{}, map[string][]string{}, map[string][]string{}
	for _, addr := range addrs {
		if mode, version, set, serves := x.examineServer(ctx, addr); serves {
			modes[mode]++
			versions[version], settings[set] = append(versions[version], addr), append(settings[set], addr)
			x.serving = append(x.serving, addr)
		}
	}
	voters, serve, leading := len(addrs)-modes["observer"], len(x.serving)-modes["observer"], modes["leader"]+modes["standalone"]
	severity, what, advice := healthy, fmt.Sprintf("servers that serve: %d of %d; that lead or are standalone: %d", serve, voters, leading), ""
	switch {
	case serve == 0:
		severity, what, advice = problem, what+": nothing can be read or written", "start servers until more than half run, and see their logs"
	case leading > 1 || modes["standalone"] > 0 && voters > 1:
		severity, what, advice = problem, what+": not one ensemble", "server.N in zoo.cfg, and myid; a deposed leader needs a moment"
	case leading == 0:
		severity, advice = warning, "ask again, since a leader may be being elected; else all servers in --servers, and "+allow
	case serve < voters:
		severity, what = warning, what+fmt.Sprintf("; it takes %d", voters/2+1)
	}
	x.add(severity, "ensemble", what, advice)
	for _, answers := range []map[string][]string{versions, settings} {
		delete(answers, "") // of servers that do not say
		var each []string
		for _, answer := range slices.Sorted(maps.Keys(answers)) {
			each = append(each, answer+" on "+strings.Join(answers[answer], ", "))
		}
		if len(each) > 1 {
			x.add(warning, "ensemble", "not all the same: "+strings.Join(each, "; "), "well while upgrading; else the same version and zoo.cfg everywhere")
		}
	}
}

// examineServer asks a server. Results that the server does not tell are "".
func (x *examination) examineServer(ctx context.Context, addr string) (mode, version, settings string, serves bool) {
	says, untold := map[string]string{}, ""
	ask := func(word, separator string) (string, error) {
		text, err := x.to.ask(ctx, addr, word)
		if err != nil || strings.Contains(text, "is not executed because it is not in the whitelist") {
			untold += " " + word
		}
		for line := range strings.Lines(text) {
			key, value, _ := strings.Cut(line, separator)
			says[key] = strings.TrimSpace(value[:min(len(value), 100)]) // it may say anything
		}
		return text, err
	}
	text, err := ask("srvr", ": ")
	switch {
	case err != nil:
		if op, ok := errors.AsType[*net.OpError](err); ok {
			err = op.Err // the finding has addr
		}
		x.add(problem, addr, "no answer: "+err.Error(), "is it up, and the address right? --tls-enabled is for a secureClientPort, and only for that")
		return "", "", "", false
	case strings.Contains(text, "not currently serving requests") || says["Mode"] == "read-only":
		x.add(problem, addr, "up, but in no quorum", "are more than half of the servers up, and do they reach one another (server.N in zoo.cfg)? If the others serve: its log, its disk")
		return "", "", "", false
	}
	_, _ = ask("conf", "=")                                                                   // missing answers are reported below
	version, _, _ = strings.Cut(strings.ReplaceAll(says["Zookeeper version"], ",", "-"), "-") // without its build and date
	what := cmp.Or(says["Mode"], "of unknown mode") + ", version " + cmp.Or(version, "unknown")
	if ms, err := strconv.ParseInt(says["tickTime"], 10, 32); err == nil {
		x.tick = max(x.tick, time.Duration(ms)*time.Millisecond)
		settings = fmt.Sprintf("tick %d ms, session timeouts %s to %s ms", ms, says["minSessionTimeout"], says["maxSessionTimeout"])
		what += ", " + settings
	}
	what += fmt.Sprintf(", latency %s ms, connections %s", cmp.Or(says["Latency min/avg/max"], "unknown"), cmp.Or(says["Connections"], "unknown"))
	if x.watches {
		if text, _ := ask("wchp", "="); !strings.Contains(untold, "wchp") {
			what += fmt.Sprintf(", watches %d on %d paths", strings.Count(text, "\t0x"), strings.Count("\n"+text, "\n/"))
		}
	}
	x.findings = append(x.findings, finding{Severity: healthy, Subject: addr, What: what, told: told{says["Mode"], version, latencyOf(says["Latency min/avg/max"])}})
	if known := fault(version); known != "" {
		x.add(warning, addr, "version "+version+": "+known, "3.9.4 or later; docs/operations.md says what is known")
	}
	if untold != "" {
		x.add(warning, addr, "does not tell"+untold, allow)
	}
	return says["Mode"], version, settings, true
}

var (
	// ours matches the znodes of queues, two-phase commits and double barriers that are to be
	// ephemeral.
	ours = regexp.MustCompile(`/(?:line/[0-9a-f-]{36}-\d{10}|claims/-?\d+-\d{10}/-?\d+|coordinators/[0-9a-f-]{36}|` +
		`round-\d{10}/_c_[0-9a-f-]{36}-party-[^/]+)$`)
	// openMark matches the mark of a transaction that not all sites have acknowledged.
	openMark   = regexp.MustCompile(`^(.*)/tx/[^/]+/_c_[0-9a-f-]{36}-open$`)
	sessionHex = regexp.MustCompile(`\b0x[0-9a-f]{1,16}\b`)
)

// examineTree reads twice the znodes at and below paths, which are below root. It lists the
// sessions in between: the second reading finds no znode of one that ended before.
func (x *examination) examineTree(ctx context.Context, s *session.Session, root string, paths []string) error {
	before, _, err := x.walk(ctx, s, root, paths)
	if err != nil {
		return err
	}
	alive := x.sessions(ctx, s.Status().SessionID)
	now, missed, err := x.walk(ctx, s, root, paths)
	if err != nil {
		return err
	}
	found, severity, advice := 0, healthy, ""
	for _, path := range slices.Sorted(maps.Keys(now.seen)) {
		f, old := now.diagnose(path, alive), before.diagnose(path, alive)
		if f.What != "" && f == old && now.seen[path].Czxid == before.seen[path].Czxid {
			found++
			x.findings = append(x.findings, f)
		}
	}
	if missed > 0 {
		severity, advice = warning, "--limit, and --auth-file for those that may not be listed"
	}
	what := fmt.Sprintf("stale or orphans: %d; znodes looked at: %d; not looked at: at least %d", found, len(now.seen), missed)
	x.add(severity, strings.Join(paths, " "), what, advice)
	x.examineContenders(ctx, s, root, before.seen, now.seen, alive)
	return nil
}

// examineContenders searches for contenders of living sessions that may be unknown to their
// processes.
func (x *examination) examineContenders(ctx context.Context, s *session.Session, root string, before, seen map[string]session.Stat, alive map[int64]bool) {
	names := map[string][]string{}
	for path, stat := range seen {
		if parent, name := znode.Split(path); before[path].Czxid == stat.Czxid && !strings.Contains(path, "/inbox/") {
			names[parent] = append(names[parent], name)
		}
	}
	for _, parent := range slices.Sorted(maps.Keys(names)) {
		all := znode.NewContenders(names[parent]).Contenders
		first := holding(all, func() ([]byte, session.Stat, error) { return s.Get(ctx, cmp.Or(root+parent, "/")) })
		for i, c := range all {
			path, severity, command := znode.Join(parent, c.Name), warning, "lock"
			if c.Kind == znode.Candidate {
				severity, command = healthy, "election" // a leader may lead for years
			}
			advice := "does its process know of it (docs/operations.md)? If not: troupe " + command + " break " + quoted(path)
			stat, behind := seen[path], all[i+1:]
			if twin := slices.IndexFunc(behind, func(o znode.Contender) bool { return c.GUID != "" && o.GUID == c.GUID }); twin >= 0 {
				x.add(problem, path, "its GUID is in this queue twice, here and in "+behind[twin].Name, advice)
			} else if i < first && first < len(all) && alive[stat.EphemeralOwner] && time.Since(stat.Ctime) > time.Hour {
				x.add(severity, path, fmt.Sprintf("queued %s, first in the queue, and others wait; its session %v lives", moment(stat.Ctime), sessionID(stat.EphemeralOwner)), advice)
			}
		}
	}
}

// holding is how many contenders of a queue may hold at a time: one, all readers before a writer,
// or as many as a semaphore has permits for, which read returns; all if that fails.
func holding(all []znode.Contender, read func() ([]byte, session.Stat, error)) int {
	permits := math.MaxInt
	if len(all) > 1 && all[0].Kind == znode.Lease {
		data, _, _ := read()
		permits, _ = strconv.Atoi(string(data))
		permits = cmp.Or(permits, math.MaxInt)
	}
	for i, c := range all {
		permits -= c.Weight
		if permits < 0 || i > 0 && c.Kind != znode.Lease && (c.Kind != znode.Read || all[0].Kind != znode.Read) {
			return i
		}
	}
	return len(all)
}

// walk reads the znodes at and below paths. It also returns how many more there are at least.
func (x *examination) walk(ctx context.Context, s *session.Session, root string, paths []string) (tree, int, error) {
	t := tree{map[string]bool{}, map[string]session.Stat{}}
	if err := s.Sync(ctx, "/"); err != nil {
		return t, 0, err
	}
	next, i, unread := slices.Sorted(slices.Values(paths)), 0, 0
	for ; i < len(next) && uint(len(t.seen)) < x.limit; i++ {
		names, stat, err := s.Children(ctx, cmp.Or(strings.TrimSuffix(root+next[i], "/"), "/"))
		switch {
		case err == nil:
			t.seen[next[i]] = stat
		case errors.Is(err, session.ErrNoAuth):
			unread++
		case i < len(paths) || !errors.Is(err, session.ErrNoNode):
			return t, 0, err
		}
		for _, name := range names {
			child := znode.Join(next[i], name)
			next, t.listed[child] = append(next, child), true
		}
	}
	return t, unread + len(next) - i, nil
}

// sessions are those that the servers list; nil without the list of a server that expires sessions.
func (x *examination) sessions(ctx context.Context, here int64) map[int64]bool {
	listed, whole := map[int64]bool{}, false
	for _, addr := range x.serving {
		text, _ := x.to.ask(ctx, addr, "dump") // an error is a list that is not complete
		list, _, complete := strings.Cut(text, "ephemeral nodes dump:")
		whole = whole || complete && !strings.Contains(list, "Global Sessions(") // a follower's, which may lag
		for _, hex := range sessionHex.FindAllString(list, -1) {
			n, _ := strconv.ParseUint(hex[2:], 16, 64) // it is a number
			listed[int64(n)] = true
		}
	}
	if whole && listed[here] {
		return listed
	}
	x.add(warning, "sessions", "not told by the leader: that of an ephemeral znode may have ended", "all servers in --servers, and "+allow)
	return nil
}

// diagnose returns the finding about a znode; its What is "" if there is none.
func (t tree) diagnose(path string, alive map[int64]bool) (f finding) {
	f = finding{Severity: problem, Subject: path, Advice: "to delete it: troupe rm " + quoted(path)}
	parent, name := znode.Split(path)
	c, isContender := znode.ParseContender(name)
	stat := t.seen[path]
	switch {
	case stat.EphemeralOwner != 0 && alive != nil && !alive[stat.EphemeralOwner]:
		f.What = fmt.Sprintf("no server lists its session %v, with which it was to be deleted", sessionID(stat.EphemeralOwner))
	case stat.EphemeralOwner != 0, strings.Contains(path, "/inbox/"): // a transaction's id may look like a contender's name
	case isContender && c.GUID != "", ours.MatchString(path):
		f.What = "not ephemeral: it outlives its process, and others wait for it or count on it"
	case isContender:
		f.Severity, f.What = warning, "not ephemeral: if it is a contender it outlives its process, and others wait for it"
	case name == znode.HeldRecord && t.seen[parent].NumChildren == 1 && stat.DataLength > 0 && stat.DataLength < maxHeld:
		f.Severity, f.What = warning, "if this is a lock (WithDelay): the record of a holder that died; nobody waits, and who comes next waits for the delay"
	case t.orphaned(path):
		f.Severity, f.What = warning, "a transaction that not all sites have acknowledged, without a coordinator: they may wait for its outcome"
		f.Advice = "have a coordinator of the application recover it"
	}
	return f
}

// orphaned reports whether a path is the mark of a transaction that certainly has no coordinator.
func (t tree) orphaned(path string) bool {
	mark := openMark.FindStringSubmatch(path)
	if mark == nil || t.seen[mark[1]].Czxid == 0 {
		return false
	}
	coordinators := mark[1] + "/coordinators"
	stat, seen := t.seen[coordinators]
	return stat.NumChildren == 0 && (seen || !t.listed[coordinators])
}
