package ensemble_test

// Texts of servers and of the machine: versions, counters, messages, and missing files.

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/zktest/ensemble"
)

func TestVersionLines(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		"Zookeeper version: 3.8.0-5a02a05e, built on 2022-02-25 08:49 UTC\nMode: standalone\n": "3.8.0",
		"Zookeeper version: 3.10.12-x":                                "3.10.12",
		"Zookeeper version: none-":                                    "",
		"This ZooKeeper instance is not currently serving requests\n": "",
		"": "",
	} {
		got, ok := ensemble.ParseVersion(answer)
		require.Equal(t, want, got, answer)
		require.Equal(t, want != "", ok, answer)
	}
}

// ZooKeeper 3.5 counts neither requests nor watches that fired.
func TestCountersThatAServerDoesNotHaveAreUncounted(t *testing.T) {
	t.Parallel()
	const of35 = "zk_version\t3.5.10-x\nzk_packets_received\t7\nzk_num_alive_connections\t2\nzk_server_state\tstandalone\n" +
		"zk_znode_count\t5\nzk_watch_count\t3\nzk_ephemerals_count\t1\n"
	got, err := ensemble.ParseStats(of35)
	require.NoError(t, err)
	require.Equal(t, "7", got.Raw["zk_packets_received"])
	got.Raw = nil
	require.Equal(t, ensemble.Stats{
		Requests: ensemble.Uncounted, Writes: ensemble.Uncounted, Reads: ensemble.Uncounted, WatchEvents: ensemble.Uncounted,
		Watches: 3, Connections: 2, Znodes: 5, Ephemerals: 1,
	}, got)
	_, err = ensemble.ParseStats("zk_server_state\tstandalone\nzk_watch_count\tmany\n")
	require.ErrorContains(t, err, "zk_watch_count")
	_, err = ensemble.ParseStats("This ZooKeeper instance is not currently serving requests\n")
	require.ErrorContains(t, err, "no counters")
}

func TestElectionAnnouncesAnotherAddress(t *testing.T) {
	t.Parallel()
	message := func(version int64, addr string) []byte {
		b := binary.BigEndian.AppendUint64(nil, uint64(version))
		b = binary.BigEndian.AppendUint64(b, 2)
		b = binary.BigEndian.AppendUint32(b, uint32(len(addr)))
		return append(b, addr...)
	}
	for name, tc := range map[string]struct {
		in, want []byte
		err      error
	}{
		"one address":       {in: message(-65536, "127.0.0.1:3888"), want: message(-65536, "other:1")},
		"several addresses": {in: message(-65535, "a:1|b:2"), want: message(-65535, "other:1")},
		"no announcement":   {in: binary.BigEndian.AppendUint64(nil, 2), want: binary.BigEndian.AppendUint64(nil, 2)},
		"too long":          {in: message(-65536, string(make([]byte, 4096)))[:20], want: message(-65536, string(make([]byte, 4096)))[:20]},
		"nothing":           {err: io.EOF},
		"broken off":        {in: message(-65536, "127.0.0.1:3888")[:25], err: io.ErrUnexpectedEOF},
	} {
		got, err := ensemble.Announcing("other:1")(bytes.NewReader(tc.in))
		require.ErrorIs(t, err, tc.err, name)
		require.Equal(t, tc.want, got, name)
	}
}

func touch(t *testing.T, parts ...string) {
	t.Helper()
	path := filepath.Join(parts...)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, nil, 0o700))
}

func TestWhatIsMissingIsSaidInOneLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	touch(t, dir, "jdk", "bin", "java")
	touch(t, dir, "debian", "zookeeper.jar")
	touch(t, dir, "debian", "slf4j-simple.jar")
	touch(t, dir, "half", "zookeeper.jar")
	touch(t, dir, "release", "lib", "zookeeper-3.9.3.jar")
	for name, tc := range map[string]struct {
		home, debian string
		missing      string
	}{
		"Debian's package":        {debian: "debian"},
		"a release":               {home: "release", debian: "none"},
		"nothing":                 {debian: "none", missing: "zookeeper.jar"},
		"no backend for logs":     {debian: "half", missing: "slf4j-simple.jar"},
		"ZOOKEEPER_HOME is wrong": {home: "half", debian: "debian", missing: "ZOOKEEPER_HOME"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := map[string]string{"JAVA_HOME": filepath.Join(dir, "jdk")}
			if tc.home != "" {
				env["ZOOKEEPER_HOME"] = filepath.Join(dir, tc.home)
			}
			err := ensemble.FindIn(func(key string) string { return env[key] }, filepath.Join(dir, tc.debian))
			if tc.missing == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.missing)
			require.ErrorContains(t, err, "make deps")
			require.NotContains(t, err.Error(), "\n")
		})
	}
}
