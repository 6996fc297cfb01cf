package zkserver

import (
	"fmt"
	"slices"
	"strings"
)

// dialect is how a version of ZooKeeper differs from 3.8.0, as far as a client can tell. Each field
// is something that a later version does; all false is 3.8.0.
type dialect struct {
	version string
	built   string // when, as the four-letter words say

	existsNeedsRead bool // exists is refused where the client may not read (ZOOKEEPER-2590)
	typedMulti      bool // the parts of a multi keep their operation: create2 is answered with a stat, bad flags fail the whole (ZOOKEEPER-4026)
	noLoneCheck     bool // a check outside a multi is an unknown request, which ends the connection (ZOOKEEPER-2623)
	readsFirst      bool // a write that can't be read is refused before it is numbered
	watchModes      bool // a path's watches of different modes stand side by side, and are looked for and taken back by kind (ZOOKEEPER-4466)
	eventZxid       bool // an event says which transaction it tells of (ZOOKEEPER-4655)
	missedNeedsRead bool // setWatches tells what a client has missed only of what it may read
	ipv6ACL         bool // an ACL of scheme "ip" may name IPv6 addresses
	noLoneReaping   bool // deleteContainer is for the server itself: a client that sends one is hung up on
}

// dialects are the versions that a server can answer as, oldest first. The random comparison with
// real servers (TestDifferential in package zktest) and the others beside it pass with 3.8.0, with
// 3.9.3 for 3.9.2, and with 3.9.6. 3.8.4 is taken from ZooKeeper's sources, and so is that 3.9.2
// differs from 3.9.3 in nothing but the check outside a multi, where this one already is as 3.9.3.
var dialects = []dialect{
	{version: "3.8.0", built: "2022-02-25 08:49 UTC"},
	{version: "3.8.4", built: "2024-02-12 22:16 UTC", existsNeedsRead: true, typedMulti: true},
	{
		version: "3.9.2", built: "2024-02-12 20:59 UTC", existsNeedsRead: true, typedMulti: true,
		noLoneCheck: true, readsFirst: true, watchModes: true, eventZxid: true,
	},
	{
		version: "3.9.6", built: "2026-10-16 16:58 UTC", existsNeedsRead: true, typedMulti: true,
		noLoneCheck: true, readsFirst: true, watchModes: true, eventZxid: true, missedNeedsRead: true, ipv6ACL: true, noLoneReaping: true,
	},
}

// Versions are those that [Config.Version] can name, oldest first.
func Versions() (all []string) {
	for _, d := range dialects {
		all = append(all, d.version)
	}
	return all
}

// dialectOf finds a version; "" is the newest.
func dialectOf(version string) (dialect, error) {
	if version == "" {
		return dialects[len(dialects)-1], nil
	}
	i := slices.IndexFunc(dialects, func(d dialect) bool { return d.version == version })
	if i < 0 {
		return dialect{}, fmt.Errorf("version %q: not one of %s", version, strings.Join(Versions(), ", "))
	}
	return dialects[i], nil
}

// banner is what the server says that it is: as tools parse it, the version whose behaviour it has.
func (d *dialect) banner() string { return d.version + "-troupe, built on " + d.built }
