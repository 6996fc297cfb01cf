package znode

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// Notes are lines in front of a contender's own data, written by itself and by processes that want
// something of it: a line each, in this order.
//
//	unlock       its holder is asked to give up
//	held         it is a semaphore's, and was granted
//	placed 4711  it took the place, among the others, of the one with that Czxid
//	by {…}       its creator, as JSON: see [Identity]
//
// The last is written once, with the data, and stays with them: [ParseNotes] leaves it in the body,
// and [CutIdentity] takes it off. Own data that begin like a note have an empty line in front:
// [Shield].
type Notes struct {
	Unlock bool
	Held   bool
	Placed int64 // 0: it has the place at which it was created
}

const (
	held   = "held\n"
	placed = "placed "
)

// ParseNotes takes a contender's data apart. Data that begin with "unlock" count as such, also if
// more follows.
func ParseNotes(data []byte) (n Notes, body []byte) {
	if n.Unlock = Revoked(data); n.Unlock {
		rest, ok := bytes.CutPrefix(data, []byte(Unlock+"\n"))
		if !ok {
			return n, nil
		}
		data = rest
	}
	data, n.Held = bytes.CutPrefix(data, []byte(held))
	if line, rest, ok := bytes.Cut(data, []byte("\n")); ok {
		if number, ok := bytes.CutPrefix(line, []byte(placed)); ok {
			if at, err := strconv.ParseInt(string(number), 10, 64); err == nil && at > 0 {
				n.Placed, data = at, rest
			}
		}
	}
	return n, data
}

// Write puts the notes in front of a contender's own data, in a slice of its own.
func (n Notes) Write(body []byte) []byte {
	var data []byte
	if n.Unlock {
		data = append(data, Unlock+"\n"...)
	}
	if n.Held {
		data = append(data, held...)
	}
	if n.Placed > 0 {
		data = append(data, placed+strconv.FormatInt(n.Placed, 10)+"\n"...)
	}
	return append(data, body...)
}

// Shield puts an empty line in front of a contender's own data that begin like notes, or with an
// empty line, so that they are not taken for notes. It changes no other data.
func Shield(data []byte) []byte {
	if !shielded(data) {
		return data
	}
	return append([]byte("\n"), data...)
}

// Unshield takes off what Shield has put in front.
func Unshield(data []byte) []byte {
	if given, is := bytes.CutPrefix(data, []byte("\n")); is && shielded(given) {
		return given
	}
	return data
}

func shielded(data []byte) bool {
	notes, _ := ParseNotes(data)
	return notes != Notes{} || bytes.HasPrefix(data, []byte(By)) || bytes.HasPrefix(data, []byte("\n"))
}

// Unlock is the beginning of the data of a contender that is asked to give up.
const Unlock = "unlock"

// Revoked tells whether a contender with these data is asked to give up.
func Revoked(data []byte) bool { return bytes.HasPrefix(data, []byte(Unlock)) }

// WithUnlock returns the data that ask a contender to give up, with the old data behind, in a slice
// of its own.
func WithUnlock(data []byte) []byte { return append([]byte(Unlock+"\n"), data...) }

// HeldRecord is the name of a [Record]: beside the contenders, and no contender's.
const HeldRecord = "held"

// Record is what a holder with a delay writes beside the contenders when it is granted. If the
// holder ends without a release the record stays, and the contender that waits for the delay then
// adds that it waits.
type Record struct {
	Token int64    `json:"token"`           // of the holder; 0: the data can't be read
	By    Identity `json:"by,omitzero"`     // its identity
	Waits int64    `json:"waits,omitempty"` // Czxid of the contender that waits, since the record was changed last
	Delay int64    `json:"delay,omitempty"` // for how long it does, in milliseconds
}

// ParseRecord reads what Bytes has written. Anything else is the zero value.
func ParseRecord(data []byte) (r Record) {
	if json.Unmarshal(data, &r) != nil {
		return Record{}
	}
	r.By = ParseIdentity(r.By.JSON())
	return r
}

// Bytes is the data of the record.
func (r Record) Bytes() []byte {
	data, _ := json.Marshal(r) //nolint:errchkjson // texts and numbers
	return data
}
