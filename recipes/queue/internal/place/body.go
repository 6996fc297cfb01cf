package place

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// Items that are put together have their data in one znode beside them, the body, so that one read brings all of them and a claim need not write them again. The
// last digits of such an item's GUID are its place in the body; what is before them names the body.
//
//	/orders/ready-0-0000000000/body-5f0c3a52-8d1c-4c6e-9a53-7b1f2c3d                   "3:red,4:blue,"
//	/orders/ready-0-0000000000/_c_5f0c3a52-8d1c-4c6e-9a53-7b1f2c3d0001-queue-0-0000000008   the second of it: blue

const (
	body       = "body-"
	guidLength = 36
	family     = guidLength - 4
)

// MostTogether is how many items one body can have.
const MostTogether = 1 << 16

// Member is the GUID of the nth item of those that are put together.
func Member(guid string, n int) string { return fmt.Sprintf("%s%04x", guid[:family], n) }

// BodyOf is the name of the body that an item's data are in, if they are in one, and its place there; false if its GUID can't be a member's.
func BodyOf(guid string) (name string, n int, ok bool) {
	if len(guid) != guidLength {
		return "", 0, false
	}
	place, err := strconv.ParseUint(guid[family:], 16, 16)
	return body + guid[:family], int(place), err == nil
}

// IsBody tells whether a name is a body's.
func IsBody(name string) bool { return strings.HasPrefix(name, body) }

// Pack makes a body of data: netstrings, which a human can read.
func Pack(data [][]byte) []byte {
	var b []byte
	for _, d := range data {
		b = strconv.AppendInt(b, int64(len(d)), 10)
		b = append(append(append(b, ':'), d...), ',')
	}
	return b
}

// Unpack takes a body apart; false if it is none.
func Unpack(b []byte) ([][]byte, bool) {
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
