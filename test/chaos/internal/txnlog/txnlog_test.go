package txnlog_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/test/chaos/internal/txnlog"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// record is a transaction as a log has it; cxid tells apart two with one id.
func record(zxid int64, cxid uint32) []byte {
	txn := binary.BigEndian.AppendUint64(nil, 7)
	txn = binary.BigEndian.AppendUint32(txn, cxid)
	txn = binary.BigEndian.AppendUint64(txn, uint64(zxid))
	txn = binary.BigEndian.AppendUint64(txn, uint64(zxid)*10)
	txn = append(binary.BigEndian.AppendUint32(txn, 5), "what it does"...)
	r := binary.BigEndian.AppendUint64(nil, uint64(adler32.Checksum(txn)))
	r = binary.BigEndian.AppendUint32(r, uint32(len(txn)))
	return append(append(r, txn...), 0x42)
}

// log is a log file with these transactions, and the zeros behind them.
func log(zxids ...int64) []byte {
	file := append([]byte("ZKLG\x00\x00\x00\x02"), make([]byte, 8)...)
	for _, z := range zxids {
		file = append(file, record(z, 1)...)
	}
	return append(file, make([]byte, 64)...)
}

type files map[string][]byte

func put(t *testing.T, dir string, fs files) {
	t.Helper()
	folder := filepath.Join(dir, "version-2")
	require.NoError(t, os.RemoveAll(folder))
	require.NoError(t, os.MkdirAll(folder, 0o700))
	for name, content := range fs {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), content, 0o600))
	}
}

func TestLost(t *testing.T) {
	t.Parallel()
	whole := files{"snapshot.0": nil, "log.100000001": log(0x100000001, 0x100000002, 0x100000003, 0x200000001)}
	torn := func(zxid int64, keep int) []byte {
		file := log(0x100000001, 0x100000002)
		return append(file[:len(file)-64], record(zxid, 1)[:keep]...)
	}
	all := len(record(1, 1))
	const hole = "server 2 has no transaction 0x100000002, which servers 0 and 1 have"
	for name, c := range map[string]struct {
		last files
		want string
	}{
		"whole":             {whole, ""},
		"nothing yet":       {files{"snapshot.0": nil, "log.1": nil}, ""},
		"behind":            {files{"log.100000001": log(0x100000001)}, ""},
		"several files":     {files{"log.100000001": log(0x100000001, 0x100000002), "log.100000003": log(0x100000003, 0x200000001)}, ""},
		"logged twice":      {files{"log.100000001": log(0x100000001, 0x100000002, 0x100000002), "log.100000002": log(0x100000002, 0x100000003, 0x200000001)}, ""},
		"torn":              {files{"log.100000001": torn(0x100000003, 30)}, ""},
		"torn at its end":   {files{"log.100000001": torn(0x100000003, all-1)}, ""},
		"torn, then more":   {files{"log.100000001": torn(0x100000003, all-1), "log.100000003": log(0x100000003, 0x200000001)}, ""},
		"torn and not made": {files{"log.100000001": torn(0x100000003, all-1), "log.200000001": log(0x200000001)}, "server 2 has no transaction 0x100000003, which servers 0 and 1 have"},
		"older files gone":  {files{"snapshot.100000003": nil, "log.200000001": log(0x200000001)}, ""},

		"hole":                          {files{"snapshot.0": nil, "log.100000001": log(0x100000001, 0x100000003)}, hole},
		"hole between files":            {files{"log.100000001": log(0x100000001), "log.100000003": log(0x100000003)}, hole},
		"hole, later epoch":             {files{"log.100000001": log(0x100000001), "log.200000001": log(0x200000001)}, hole},
		"state taken over":              {files{"snapshot.100000002": nil, "log.100000001": log(0x100000001, 0x100000003)}, ""},
		"state taken over, new file":    {files{"snapshot.100000003": nil, "log.100000001": log(0x100000001), "log.200000001": log(0x200000001)}, ""},
		"state taken over, new epoch":   {files{"snapshot.200000000": nil, "log.100000001": log(0x100000001), "log.200000001": log(0x200000001)}, ""},
		"state taken over, not enough":  {files{"snapshot.100000002": nil, "log.100000001": log(0x100000001), "log.200000001": log(0x200000001)}, "server 2 has no transaction 0x100000003, which servers 0 and 1 have"},
		"snapshot of its own, before":   {files{"snapshot.100000001": nil, "log.100000001": log(0x100000001, 0x100000003)}, hole},
		"snapshot of its own, after":    {files{"snapshot.100000003": nil, "log.100000001": log(0x100000001, 0x100000003), "log.200000001": log(0x200000001)}, hole},
		"a transaction of its own more": {files{"log.100000001": log(0x100000001, 0x100000002, 0x100000003, 0x100000004)}, ""},
		"replaced":                      {files{"log.100000001": append(log()[:16], record(0x100000001, 2)...)}, "server 2 has another transaction 0x100000001 than the one that servers 0 and 1 have"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
			put(t, dirs[0], whole)
			put(t, dirs[1], whole)
			put(t, dirs[2], c.last)
			require.Equal(t, c.want, txnlog.Of(dirs).Lost())
		})
	}
}

// What a majority had logged is remembered, whatever the servers drop later.
func TestWhatAMajorityHasDropped(t *testing.T) {
	t.Parallel()
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	logs := txnlog.Of(dirs)
	put(t, dirs[0], files{"log.100000001": log(0x100000001, 0x100000002)})
	put(t, dirs[1], files{"log.100000001": log(0x100000001, 0x100000002)})
	put(t, dirs[2], files{"log.100000001": log(0x100000001)})
	require.Empty(t, logs.Lost())

	dropped := files{"snapshot.100000001": nil, "log.100000001": log(0x100000001), "log.200000001": log(0x200000001)}
	put(t, dirs[1], dropped)
	put(t, dirs[2], dropped)
	require.Equal(t, "server 1 has no transaction 0x100000002, which a majority had logged before", logs.Lost())
}

// The logs of real servers, that die and come back during writes, are read to their ends, and have
// no holes. One that is made is found.
func TestRealServers(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	servers := ensemble.Start(t, 3)
	dirs := []string{servers.DataDir(0), servers.DataDir(1), servers.DataDir(2)}
	logs := txnlog.Of(dirs)
	conn, _, err := zk.Connect(servers.Servers(), time.Minute, zk.WithLogInfo(false))
	require.NoError(t, err)
	defer conn.Close()
	n := 0
	write := func() {
		for range 50 {
			n++
			require.Eventually(t, func() bool {
				_, err := conn.Create(fmt.Sprintf("/z%d", n), nil, 0, zk.WorldACL(zk.PermAll))
				return err == nil || errors.Is(err, zk.ErrNodeExists)
			}, 30*time.Second, 20*time.Millisecond)
		}
	}
	write()
	require.Empty(t, logs.Lost())
	for i := range servers.Servers() {
		servers.Kill(i)
		n += 1000
		write()
		require.NoError(t, servers.Restart(i))
		n += 1000
		write()
		require.Empty(t, logs.Lost())
	}

	name := filepath.Join(dirs[2], "version-2", "log.100000001")
	file, err := os.ReadFile(name)
	require.NoError(t, err)
	next := func(at int) int { return at + 12 + int(binary.BigEndian.Uint32(file[at+8:])) + 1 }
	second := next(16)
	third := next(second)
	servers.Kill(2)
	require.NoError(t, os.WriteFile(name, slices.Concat(file[:second], file[third:]), 0o600))
	require.Equal(t, "server 2 has no transaction 0x100000002, which servers 0 and 1 have", logs.Lost())
}
