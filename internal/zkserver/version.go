package zkserver

import (
	"fmt"
	"slices"
	"strings"
)

// dialect is how a version of ZooKeeper differs from 3.8.0, as far as a client can tell. Each field is something that a later version does; all false
// is 3.8.0.
type dialect struct {
	version string
	built   string // when, as the four-letter words say

	existsNeedsRead bool // exists is refused where the client may not read (ZOOKEEPER-2590)
	typedMulti      bool // the parts of a multi keep their operation: create2 is answered with a stat, bad flags fail the whole (ZOOKEEPER-4026)
	noLoneCheck     bool // a check outside a multi is an unknown request, which ends the connection (ZOOKEEPER-2623)
	readsFirst      bool // a write that can't be read is refused before it is numbered
	watchKinds      bool // checkWatches and removeWatches know persistent and recursive watches by kinds of their own (ZOOKEEPER-4471)
}

// dialects are the versions that a server can answer as, oldest first. What the later ones do is taken from ZooKeeper's sources and from runs against
// servers that were built from them.
var dialects = []dialect{
	{version: "3.8.0", built: "2022-02-25 08:49 UTC"},
	{version: "3.8.4", built: "2024-02-12 22:16 UTC", existsNeedsRead: true, typedMulti: true},
	{
		version: "3.9.2", built: "2024-02-12 20:59 UTC", existsNeedsRead: true, typedMulti: true,
		noLoneCheck: true, readsFirst: true, watchKinds: true,
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
		return dialect{}, fmt.Errorf("zkserver: version %q: not one of %s", version, strings.Join(Versions(), ", "))
	}
	return dialects[i], nil
}

// banner is what the server says that it is: as tools parse it, the version whose behaviour it has.
func (d *dialect) banner() string { return d.version + "-troupe, built on " + d.built }
