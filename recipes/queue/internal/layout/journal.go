package layout

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

// Claim is an entry of a journal.
type Claim struct {
	Entry
	Offered uint64 // which items may have been handed out: if the consumer dies, that was an attempt
}

// Journal is what a consumer has claimed and not settled.
//
//	17                                   the number of the transaction that wrote it; "17 fixed": its
//	                                     consumer gives nothing back that others wait for
//	ready-0-0000000003:5 1               one item
//	ready-0-0000000003:6 3f,c0*2 3       eight, two of which were handed out twice before; two of them are offered now
//	ready-0-0000000003:7-70              64 znodes with one item each, none of which was ever handed out
//
// The last form keeps it small: each transaction writes the journal, and a consumer may have
// claimed thousands.
type Journal struct {
	Number uint64
	Fixed  bool
	Claims []Claim
}

// Idle is how many items others could have: nobody receives them.
func (j Journal) Idle() (n int) {
	for _, c := range j.Claims {
		if !j.Fixed {
			n += c.Without(c.Offered).Len()
		}
	}
	return n
}

const fixedMark = " fixed"

// Bytes are the journal's data.
func (j Journal) Bytes() []byte {
	var b bytes.Buffer
	b.WriteString(strconv.FormatUint(j.Number, 10))
	if j.Fixed {
		b.WriteString(fixedMark)
	}
	for rest := j.Claims; len(rest) > 0; {
		c, n := rest[0], row(rest)
		rest = rest[n:]
		if n > 1 {
			fmt.Fprintf(&b, "\n%s-%d", c.Position, int(c.Seq)+n-1)
			continue
		}
		fmt.Fprintf(&b, "\n%s %s", c.Position, c.text())
		if c.Offered != 0 {
			b.WriteString(" " + strconv.FormatUint(c.Offered, 16))
		}
	}
	return b.Bytes()
}

// row is how many of the first claims are of neighbours with one item each, never handed out; at
// least 1.
func row(claims []Claim) int {
	for n, c := range claims {
		plain := c.Part == 0 && c.Offered == 0 && len(c.Runs) == 1 && c.Runs[0] == Run{Items: 1}
		if !plain || c.Bucket != claims[0].Bucket || int(c.Seq) != int(claims[0].Seq)+n {
			return max(n, 1)
		}
	}
	return len(claims)
}

// longestRow bounds what somebody may write by hand.
const longestRow = 100_000

// parseRow reads "<position>-<sequence>"; false if it is something else.
func parseRow(line string) ([]Claim, bool) {
	at := strings.LastIndexByte(line, '-')
	first, ok := parsePosition(line[:max(at, 0)])
	last, err := strconv.ParseInt(line[at+1:], 10, 32)
	count := last - int64(first.Seq) + 1
	if !ok || err != nil || first.Part > 0 || count < 2 || count > longestRow {
		return nil, false
	}
	claims := make([]Claim, count)
	for n := range claims {
		claims[n].Entry = Entry{first, []Run{{Items: 1}}}
		claims[n].Seq += int32(n)
	}
	return claims, true
}

// ParseJournal reads a journal; false if it is none.
func ParseJournal(data []byte) (Journal, bool) {
	number, rest, more := strings.Cut(string(data), "\n")
	j := Journal{}
	number, j.Fixed = strings.CutSuffix(number, fixedMark)
	var err error
	if j.Number, err = strconv.ParseUint(number, 10, 64); err != nil {
		return Journal{}, false
	}
	for more {
		var line string
		line, rest, more = strings.Cut(rest, "\n")
		claims, ok := parseRow(line)
		if !ok {
			claims = make([]Claim, 1)
			if claims[0], ok = parseClaim(line); !ok {
				return Journal{}, false
			}
		}
		j.Claims = append(j.Claims, claims...)
	}
	return j, true
}

func parseClaim(line string) (Claim, bool) {
	fields := strings.Split(line, " ")
	if len(fields) < 2 || len(fields) > 3 {
		return Claim{}, false
	}
	c := Claim{}
	var ok bool
	if c.Position, ok = parsePosition(fields[0]); !ok {
		return Claim{}, false
	}
	if c.Runs, ok = parseRuns(fields[1]); !ok {
		return Claim{}, false
	}
	if len(fields) == 3 {
		var err error
		if c.Offered, err = strconv.ParseUint(fields[2], 16, 64); err != nil || c.Offered&^c.Left() != 0 {
			return Claim{}, false
		}
	}
	return c, true
}

// Back is the entry that goes back when the consumer ends: what was offered has had its attempt.
func (c Claim) Back() Returned { return Returned{Entry: c.Counted(c.Offered)} }

// Cursor tells for each lane up to where everything was claimed.
type Cursor map[place.Lane]Mark

// Mark is a place in a lane: everything up to it was claimed.
type Mark struct {
	Number int   // of the bucket
	Seq    int32 // in that bucket; -1: nothing of it
}

// Of is the mark of a lane: before everything if there is none.
func (c Cursor) Of(l place.Lane) Mark {
	if m, ok := c[l]; ok {
		return m
	}
	return Mark{0, -1}
}

// Bytes are the cursor's data: a line "<bucket> <sequence>" for each lane, in the order of lanes.
func (c Cursor) Bytes() []byte {
	lanes := make([]place.Lane, 0, len(c))
	for l := range c {
		lanes = append(lanes, l)
	}
	sortLanes(lanes)
	var b bytes.Buffer
	for i, l := range lanes {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s %d", place.Bucket{Lane: l, Number: c[l].Number}.Name(), c[l].Seq)
	}
	return b.Bytes()
}

// ParseCursor reads a cursor; false if it is none. Without data it is before everything.
func ParseCursor(data []byte) (Cursor, bool) {
	c := make(Cursor)
	if len(data) == 0 {
		return c, true
	}
	for line := range strings.SplitSeq(string(data), "\n") {
		name, number, ok := strings.Cut(line, " ")
		if !ok {
			return nil, false
		}
		b, ok := place.ParseBucket(name)
		seq, err := strconv.ParseInt(number, 10, 32)
		if !ok || b.Lane.Later || err != nil || seq < -1 {
			return nil, false
		}
		c[b.Lane] = Mark{b.Number, int32(seq)}
	}
	return c, true
}
