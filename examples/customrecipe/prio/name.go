package prio

import (
	"fmt"
	"strconv"
	"strings"
)

// Mode is the way in which a contender holds the lock.
type Mode int

// The modes.
const (
	Write Mode = iota // exclusive
	Read              // shared with other readers
)

const (
	best  = 0
	worst = 999

	held   = "held"
	revoke = "revoke"
)

// contender is a parsed znode name.
type contender struct {
	name     string
	mode     Mode
	priority int
	number   int64
}

// called returns the prefix of a contender's name.
func called(id string, m Mode, priority int) string {
	return fmt.Sprintf("%s-%s-%03d-", id, [...]string{Write: "w", Read: "r"}[m], priority)
}

// parse parses a name. It returns false for znodes that other programs have created under the
// parent.
func parse(name string) (contender, bool) {
	parts := strings.Split(name, "-")
	if len(parts) != 4 || len(parts[2]) != 3 || parts[1] != "r" && parts[1] != "w" {
		return contender{}, false
	}
	priority, err := strconv.Atoi(parts[2])
	if err != nil || priority < best {
		return contender{}, false
	}
	number, err := strconv.ParseInt(parts[3], 10, 64)
	if err != nil {
		return contender{}, false
	}
	c := contender{name: name, priority: priority, number: number}
	if parts[1] == "r" {
		c.mode = Read
	}
	return c, true
}

// compare orders contenders by priority, then by arrival.
func compare(a, b contender) int {
	switch {
	case a.priority != b.priority:
		return a.priority - b.priority
	case a.number < b.number:
		return -1
	case a.number > b.number:
		return 1
	}
	return strings.Compare(a.name, b.name)
}
