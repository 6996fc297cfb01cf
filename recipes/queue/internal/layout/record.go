package layout

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/troupe-go/troupe/internal/sentinel"
	"github.com/troupe-go/troupe/internal/znode"
)

// Record is the data of an item's znode: a line, and the body behind it.
//
//	0000000002 {"id":"order-17","headers":["content-type","text/plain"],"priority":5}
//	the body
type Record struct {
	Attempts int // how often it was claimed, less the times it was returned without an attempt
	About
	Body []byte
}

// About is an item but for its body. A version that does not know a field keeps it with a claim,
// and leaves it out when it puts the item elsewhere.
type About struct {
	ID       string          `json:"id,omitempty"`       // as given by the application; "" if the GUID is the id
	Headers  []string        `json:"headers,omitempty"`  // names and values by turns
	Priority int             `json:"priority,omitempty"` // also while the item is delayed, and among the dead letters
	Failure  json.RawMessage `json:"failure,omitempty"`  // see [Failure]
	Tried    int             `json:"tried,omitempty"`    // how often it was claimed before it became a dead letter
}

// Failure is an item's last error.
type Failure struct {
	Error string         `json:"error"`
	Time  int64          `json:"time"` // in milliseconds since 1970
	By    znode.Identity `json:"by"`   // the process that has written it
}

// Encode is JSON of at most 1 kB, for which the text is cut.
func (f Failure) Encode() json.RawMessage {
	const most = 1 << 10
	text := strings.ToValidUTF8(f.Error, "\uFFFD")
	for n := most; n > 0; n -= 64 { // an escaped character is six times as long
		f.Error = strings.ToValidUTF8(text[:min(n, len(text))], "")
		if all, err := json.Marshal(f); err == nil && len(all) <= most {
			return all
		}
	}
	return nil
}

// ParseFailure parses a failure; the zero value if there is none, or a malformed one.
func ParseFailure(text json.RawMessage) (f Failure) {
	if json.Unmarshal(text, &f) != nil {
		return Failure{}
	}
	return f
}

// width is that of the attempts: a claim writes them anew, and must not make the data longer.
const width = 10

// Encode makes the data of an item's znode.
func (r Record) Encode() []byte {
	about, _ := json.Marshal(r.About) //nolint:errchkjson // strings and a number: it does not fail
	b := fmt.Appendf(make([]byte, 0, width+len(about)+2+len(r.Body)), "%0*d %s\n", width, r.Attempts, about)
	return append(b, r.Body...)
}

// ParseRecord parses the data of an item's znode; false if no queue writes such data.
func ParseRecord(data []byte) (Record, bool) {
	line, body, ok := bytes.Cut(data, []byte("\n"))
	if !ok || len(line) < width+1 || line[width] != ' ' {
		return Record{}, false
	}
	n, err := strconv.ParseUint(string(line[:width]), 10, 31)
	r := Record{Attempts: int(n), Body: body}
	if err != nil || json.Unmarshal(line[width+1:], &r.About) != nil {
		return Record{}, false
	}
	if r.ID != "" && (strings.Contains(r.ID, "/") || znode.Validate("/"+r.ID) != nil) { // it is a znode's name: see [Root.ID]
		return Record{}, false
	}
	return r, len(r.Headers)%2 == 0 && r.Priority >= MinPriority && r.Priority <= MaxPriority
}

// WithAttempts are the data of an item's znode with another number of attempts.
func WithAttempts(data []byte, attempts int) []byte {
	return append(fmt.Appendf(make([]byte, 0, len(data)), "%0*d", width, attempts), data[width:]...)
}

// Header is the value of a header, "" if there is none.
func (r Record) Header(name string) string {
	for i := 0; i+1 < len(r.Headers); i += 2 {
		if r.Headers[i] == name {
			return r.Headers[i+1]
		}
	}
	return ""
}

// Size is the size of a queue with a capacity. Its number of items is never too small, but for dead
// letters that have arrived since they were counted last. Each put changes it on condition of its
// version. An Ack leaves it as it is: a put that finds the queue full counts the items, and writes
// that number.
type Size struct {
	Capacity int
	Items    int
}

// Encode makes the data of [Root.Size].
func (s Size) Encode() []byte { return fmt.Appendf(nil, "%d of %d", s.Items, s.Capacity) }

// ParseSize parses the data of [Root.Size]; false if no queue writes such data.
func ParseSize(data []byte) (Size, bool) {
	items, capacity, _ := strings.Cut(string(data), " of ")
	n, err := strconv.Atoi(items)
	c, errC := strconv.Atoi(capacity)
	return Size{Capacity: c, Items: n}, err == nil && errC == nil && n >= 0 && c > 0
}

// Errors that users see: package queue has the same ones.
const (
	ErrEmpty     = sentinel.ConstError("the queue is empty")
	ErrFull      = sentinel.ConstError("the queue is full")
	ErrDuplicate = sentinel.ConstError("an item with this id is in the queue")
	ErrCapacity  = sentinel.ConstError("the queue has another capacity")
)
