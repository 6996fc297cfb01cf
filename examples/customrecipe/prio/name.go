package prio

import (
	"fmt"
	"strconv"
	"strings"
)

// Mode says how somebody holds the lock.
type Mode int

// The modes.
const (
	Write Mode = iota // alone
	Read              // with other readers
)

const (
	best  = 0
	worst = 999

	held   = "held"
	revoke = "revoke"
)

// contender is a znode in the line, by its name.
type contender struct {
	name     string
	mode     Mode
	priority int
	number   int64
}

// called is what a contender's name begins with.
func called(id string, m Mode, priority int) string {
	return fmt.Sprintf("%s-%s-%03d-", id, [...]string{Write: "w", Read: "r"}[m], priority)
}

// parse reads a name. Others may have put other things into the line: they are nobody's.
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

// compare orders those who wait: by priority, then by arrival.
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
