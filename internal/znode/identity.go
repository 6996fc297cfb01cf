package znode

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Identity is session.Identity, with the forms in which znodes have it.
type Identity struct {
	Host    string `json:"host,omitempty"`
	PID     int    `json:"pid,omitempty"`
	Program string `json:"program,omitempty"`
	Name    string `json:"name,omitempty"`
}

// By is the beginning of the line that [Notes] have of an identity.
const By = "by {"

const mostIdentity = 256 - len("by \n") // bytes of the JSON, so that the line has 256 at most

// String is "orders-7 on host a (pid 812)", as far as that is known; "" of the zero value.
func (i Identity) String() string {
	if i == (Identity{}) {
		return ""
	}
	who := cmp.Or(i.Name, i.Program, "a process")
	if i.Host != "" {
		who += " on host " + i.Host
	}
	if i.PID != 0 {
		who += fmt.Sprintf(" (pid %d)", i.PID)
	}
	return who
}

// Note is the line of [Notes]; "" of the zero value.
func (i Identity) Note() string {
	if text := i.JSON(); text != nil {
		return "by " + string(text) + "\n"
	}
	return ""
}

// JSON is the JSON of the line, for data that are JSON themselves; nil of the zero value. A host or
// a program that is too long is cut, one that can't be shown is left out.
func (i Identity) JSON() json.RawMessage {
	i.Host, i.Program = shown(i.Host), shown(i.Program)
	for i != (Identity{}) {
		text, _ := json.Marshal(i) //nolint:errchkjson // texts and a number
		longer := &i.Host
		if len(i.Program) > len(i.Host) {
			longer = &i.Program
		}
		if *longer == "" || len(text) <= mostIdentity {
			return text
		}
		_, last := utf8.DecodeLastRuneInString(*longer)
		*longer = (*longer)[:len(*longer)-last]
	}
	return nil
}

// shown is the text if all of it is printable, so that it cannot move a cursor or hide other text.
func shown(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }) {
		return ""
	}
	return text
}

// ParseIdentity reads what JSON has written. A text that is too long, malformed or not printable
// gives the zero value.
func ParseIdentity(text []byte) (i Identity) {
	read := len(text) <= mostIdentity && json.Unmarshal(text, &i) == nil
	if all := i.Host + i.Program + i.Name; !read || i.PID < 0 || shown(all) != all {
		return Identity{}
	}
	return i
}

// CutIdentity takes the line of an identity out of data. No other note than an unlock may be before
// it. Data without one, or with one that can't be read, are returned as they are.
func CutIdentity(data []byte) (Identity, []byte) {
	head := 0
	if bytes.HasPrefix(data, []byte(Unlock+"\n")) {
		head = len(Unlock) + 1
	}
	line, rest, whole := bytes.Cut(data[head:], []byte("\n"))
	text, _ := bytes.CutPrefix(line, []byte("by "))
	if i := ParseIdentity(text); whole && bytes.HasPrefix(line, []byte(By)) && i != (Identity{}) {
		return i, append(data[:head:head], rest...)
	}
	return Identity{}, data
}
