package place

import (
	"bytes"
	"strconv"
)

const (
	guidLength = 36
	family     = guidLength - 4

	// MostTogether is how many items can be put together: the last four digits of their GUIDs tell
	// them apart.
	MostTogether = 1<<16 - 1
)

// Member is the GUID of an item among those that are put together with this GUID, counted from 1.
func Member(guid string, part int) string {
	const hex = "0123456789abcdef"
	b := make([]byte, 0, guidLength)
	b = append(b, guid[:family]...)
	return string(append(b, hex[part>>12&15], hex[part>>8&15], hex[part>>4&15], hex[part&15]))
}

// Wrap joins data to those of one znode: netstrings, which a human can read.
func Wrap(data [][]byte) []byte {
	size := 0
	for _, d := range data {
		size += len(d) + 2 + 7
	}
	b := make([]byte, 0, size)
	for _, d := range data {
		b = strconv.AppendInt(b, int64(len(d)), 10)
		b = append(append(append(b, ':'), d...), ',')
	}
	return b
}

// Unwrap takes them apart; false if they are none.
func Unwrap(b []byte) ([][]byte, bool) {
	var data [][]byte
	for len(b) > 0 {
		colon := bytes.IndexByte(b, ':')
		if colon < 0 {
			return nil, false
		}
		n, err := strconv.Atoi(string(b[:colon]))
		b = b[colon+1:]
		if err != nil || n < 0 || n >= len(b) || b[n] != ',' {
			return nil, false
		}
		data = append(data, b[:n:n])
		b = b[n+1:]
	}
	return data, true
}
