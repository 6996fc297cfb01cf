package txnlog

import (
	"cmp"
	"encoding/binary"
	"errors"
	"hash/adler32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// txn is the header of a transaction. It is the same on all servers, whereas what follows it need
// not be: a digest may be added to it.
type txn struct {
	client int64
	cxid   int32
	zxid   int64
	time   int64
	kind   int32
}

func byZxid(a, b txn) int { return cmp.Compare(a.zxid, b.zxid) }

const (
	magic      = "ZKLG"
	fileHeader = 16                // magic, version, database id
	before     = 12                // of a record: checksum and length
	header     = 8 + 4 + 8 + 8 + 4 // of a transaction
	endOfEntry = 0x42
)

// parse reads a log file up to the first record that is not whole: the server may be writing it, or
// was killed while it did.
func parse(file []byte) (txns []txn) {
	if len(file) < fileHeader || string(file[:len(magic)]) != magic {
		return nil
	}
	for rest := file[fileHeader:]; len(rest) > before; {
		sum, length := binary.BigEndian.Uint64(rest), int64(binary.BigEndian.Uint32(rest[8:]))
		if length < header || length >= int64(len(rest)-before) {
			return txns
		}
		entry := rest[before:][:length]
		if rest[before+length] != endOfEntry || sum != uint64(adler32.Checksum(entry)) {
			return txns
		}
		txns = append(txns, txn{
			client: int64(binary.BigEndian.Uint64(entry)),
			cxid:   int32(binary.BigEndian.Uint32(entry[8:])),
			zxid:   int64(binary.BigEndian.Uint64(entry[12:])),
			time:   int64(binary.BigEndian.Uint64(entry[20:])),
			kind:   int32(binary.BigEndian.Uint32(entry[28:])),
		})
		rest = rest[before+length+1:]
	}
	return txns
}

// server is what the files of one server contain.
type server struct {
	txns      []txn   // in the order of their ids
	snapshots []int64 // the ids of the last transactions in them, sorted
}

// read reads the files of a server. It looks for the snapshots after it has read the logs, because
// a server writes a snapshot before it logs what comes after it.
func read(dir string) (s server, err error) {
	logs, err := filepath.Glob(filepath.Join(dir, "version-2", "log.*"))
	if err != nil {
		return s, err
	}
	for _, name := range logs {
		file, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the server has dropped it
		}
		if err != nil {
			return s, err
		}
		s.txns = append(s.txns, parse(file)...)
	}
	slices.SortStableFunc(s.txns, byZxid)
	s.txns = slices.Compact(s.txns) // one may stand at the end of a file and in the next
	snapshots, err := filepath.Glob(filepath.Join(dir, "version-2", "snapshot.*"))
	if err != nil {
		return s, err
	}
	for _, name := range snapshots {
		if z, err := strconv.ParseInt(filepath.Ext(name)[1:], 16, 64); err == nil {
			s.snapshots = append(s.snapshots, z)
		}
	}
	slices.Sort(s.snapshots)
	return s, nil
}

// find returns what the server has logged under an id: more than one record if they differ.
func (s server) find(zxid int64) []txn {
	i := s.after(zxid - 1)
	return s.txns[i : i+s.after(zxid)-i]
}

// after is the index of the first record behind an id.
func (s server) after(zxid int64) int {
	i, _ := slices.BinarySearchFunc(s.txns, zxid+1, func(t txn, z int64) int { return cmp.Compare(t.zxid, z) })
	return i
}

// lacks says whether an id that the server has not logged is in a gap that no snapshot excuses.
func (s server) lacks(zxid int64) bool {
	next := s.after(zxid)
	if next == 0 || next == len(s.txns) {
		return false
	}
	i, _ := slices.BinarySearch(s.snapshots, zxid)
	return i == len(s.snapshots) || s.snapshots[i] >= s.txns[next].zxid
}
