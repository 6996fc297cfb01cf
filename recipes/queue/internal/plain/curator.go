package plain

import (
	"encoding/binary"
	"slices"
)

// Curator's ItemSerializer writes a version, each item as a one and its length in front of it, and
// a two at the end. A znode may hold several.
const (
	curatorVersion = 0x00010001
	curatorItem    = 1
	curatorEnd     = 2
)

// wrap copies an item's data into what the layout has.
func (l layout) wrap(data []byte) []byte {
	if !l.curator {
		return slices.Clone(data)
	}
	b := binary.BigEndian.AppendUint32(nil, curatorVersion)
	b = binary.BigEndian.AppendUint32(append(b, curatorItem), uint32(len(data)))
	return append(append(b, data...), curatorEnd)
}

// unwrap is what a znode holds; false if that is nothing that the layout knows.
func (l layout) unwrap(data []byte) (all [][]byte, ok bool) {
	if !l.curator {
		return [][]byte{data}, true
	}
	if len(data) < 4 || binary.BigEndian.Uint32(data) != curatorVersion {
		return nil, false
	}
	for data = data[4:]; len(data) > 0 && data[0] == curatorItem; {
		if data = data[1:]; len(data) < 4 {
			return nil, false
		}
		n := binary.BigEndian.Uint32(data)
		if data = data[4:]; uint64(n) > uint64(len(data)) {
			return nil, false
		}
		all, data = append(all, data[:n:n]), data[n:]
	}
	return all, len(data) > 0 && data[0] == curatorEnd // Curator ignores what is behind the end
}
