package layout

import (
	"slices"
	"strconv"

	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

// Record is one item, as it is written.
type Record struct {
	ID      string   // as given by the application; "" if the GUID is the id
	Headers []string // names and values by turns
	Body    []byte
	Removed bool // it was deleted, and those that were put with it are there
}

// tombstone is written instead of what is known of a removed item.
const tombstone = "-"

// Pack makes a znode's data: for each item the body, and in front of it, if there is any, what else
// is known of it. All are netstrings, which a human can read.
func Pack(records []Record) []byte {
	fields := make([][]byte, 0, 2*len(records))
	for _, r := range records {
		about := [][]byte{[]byte(r.ID)}
		for _, h := range r.Headers {
			about = append(about, []byte(h))
		}
		if r.ID == "" && len(r.Headers) == 0 {
			about = nil
		}
		if r.Removed {
			fields = append(fields, []byte(tombstone), nil)
			continue
		}
		fields = append(fields, place.Wrap(about), r.Body)
	}
	return place.Wrap(fields)
}

// Unpack reads a znode's data; false if they are not those of count items.
func Unpack(data []byte, count int) ([]Record, bool) {
	fields, ok := place.Unwrap(data)
	if !ok || len(fields) != 2*count {
		return nil, false
	}
	records := make([]Record, 0, count)
	for pair := range slices.Chunk(fields, 2) {
		if string(pair[0]) == tombstone {
			records = append(records, Record{Removed: true})
			continue
		}
		r := Record{Body: pair[1]}
		about, ok := place.Unwrap(pair[0])
		if !ok || len(about)%2 == 0 && len(about) > 0 {
			return nil, false
		}
		if len(about) > 0 {
			r.ID = string(about[0])
			for _, h := range about[1:] {
				r.Headers = append(r.Headers, string(h))
			}
		}
		records = append(records, r)
	}
	return records, true
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

// Size is about how many bytes it takes.
func (r Record) Size() int {
	n := len(r.Body) + len(r.ID) + len(strconv.Itoa(len(r.Body))) + 8
	for _, h := range r.Headers {
		n += len(h) + 5
	}
	return n
}
