// The session file: what a process that was killed has had goes at once when it is started again.
// Helpers: helper_test.go.

package session_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/session"
)

// A process dies, and another one has its file: the ZooKeeper session of the former ends at once,
// and that of each epoch is in the file.
func TestTheSessionOfTheProcessBeforeIsEndedAtOnce(t *testing.T) {
	inBubble(t, func(w *harness) {
		file := filepath.Join(w.TempDir(), "session")
		other := w.open()
		for i := range 3 {
			host := w.srv.Host(fmt.Sprint(i))
			s := w.open(session.WithSessionFile(file), session.WithDialer(host.Dialer()))
			w.srv.Expire(id(s)) // the file has the next epoch as well
			time.Sleep(time.Minute)
			w.create(s, "/held", nil, session.Ephemeral())
			host.Partition()
			session.ReleaseFile(s)
			next := w.open(session.WithSessionFile(file))
			time.Sleep(300 * time.Millisecond)
			require.False(w, w.exists(other, "/held"))
			w.create(next, "/held", nil, session.Ephemeral())
			require.NoError(w, next.Close(w.ctx))
			text, err := os.ReadFile(file)
			require.NoError(w, err)
			require.Empty(w, text, "its session was closed: nothing is to be ended")
		}
		info, err := os.Stat(file)
		require.NoError(w, err)
		require.Equal(w, os.FileMode(0o600), info.Mode())
	})
}

// A file whose owner may live, or is not known, is left as it is; the session does without.
func TestAForeignSessionFileIsLeftAlone(t *testing.T) {
	host, err := os.Hostname()
	require.NoError(t, err)
	each(t, map[string]func(w *harness, file string, id int64, server string) (text []byte){
		"another process has it": func(w *harness, file string, id int64, server string) []byte {
			f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
			require.NoError(w, err)
			require.NoError(w, syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
			w.Cleanup(func() { _ = f.Close() })
			return session.Saved(host, id, make([]byte, 16), server)
		},
		"it is of another host": func(_ *harness, _ string, id int64, server string) []byte {
			return session.Saved("elsewhere", id, make([]byte, 16), server)
		},
	}, func(w *harness, prepare func(w *harness, file string, id int64, server string) []byte) {
		var log journal
		file, held := filepath.Join(w.TempDir(), "session"), w.open()
		text := prepare(w, file, id(held), w.srv.Hosts()[0])
		require.NoError(w, os.WriteFile(file, text, 0o600))
		s := w.open(session.WithSessionFile(file), log.warnings())
		time.Sleep(time.Minute)
		require.Equal(w, session.Connected, held.Status().State)
		require.NoError(w, s.Close(w.ctx))
		found, err := os.ReadFile(file)
		require.NoError(w, err)
		require.Equal(w, string(text), string(found))
		log.reads(w, `WARN msg="the session file is not used.*`)
	})
}

// A file that a power cut has left in pieces is not in the way: what is in it is kept, and those
// who can't read the file can't read that either. The file is used from then on.
func TestADamagedSessionFileIsCopiedAndUsed(t *testing.T) {
	host, err := os.Hostname()
	require.NoError(t, err)
	text := session.Saved(host, 0x100000000000001, []byte("the old password"), "127.0.0.1:1")
	each(t, map[string][]byte{
		"zeros": make([]byte, len(text)), "cut in the middle": text[:len(text)/2], "cut at the end": text[:len(text)-5],
		"larger than any": bytes.Repeat([]byte("x"), 200<<10),
	}, func(w *harness, text []byte) {
		var log journal
		file := filepath.Join(w.TempDir(), "session")
		require.NoError(w, os.WriteFile(file, text, 0o600))
		require.NoError(w, os.WriteFile(file+".damaged", []byte("of an earlier one"), 0o644)) // which others may read
		inode, err := os.Stat(file)
		require.NoError(w, err)
		s := w.open(session.WithSessionFile(file), log.warnings())
		first := id(s)
		kept, err := os.ReadFile(file + ".damaged")
		require.NoError(w, err)
		require.True(w, bytes.Equal(text, kept))
		info, err := os.Stat(file + ".damaged")
		require.NoError(w, err)
		require.Equal(w, os.FileMode(0o600), info.Mode())
		info, err = os.Stat(file)
		require.NoError(w, err)
		require.True(w, os.SameFile(inode, info), "it is this one that is locked")
		synctest.Wait()
		log.reads(w, `WARN msg="the session file is damaged.*`)
		session.ReleaseFile(s)
		next := w.open(session.WithSessionFile(file))
		time.Sleep(time.Second)
		_, alive := w.srv.Session(first)
		require.False(w, alive, "the file tells of it")
		require.NoError(w, next.Close(w.ctx))
	})
}

// A damaged file that can't be copied is left as it is.
func TestADamagedSessionFileIsNotOverwrittenWithoutACopy(t *testing.T) {
	inBubble(t, func(w *harness) {
		var log journal
		file := filepath.Join(w.TempDir(), "session")
		require.NoError(w, os.WriteFile(file, []byte("damaged"), 0o600))
		require.NoError(w, os.MkdirAll(file+".damaged/in the way", 0o700))
		require.NoError(w, w.open(session.WithSessionFile(file), log.warnings()).Close(w.ctx))
		found, err := os.ReadFile(file)
		require.NoError(w, err)
		require.Equal(w, "damaged", string(found))
		log.reads(w, `WARN msg="the session file is not used.*`)
	})
}

// A volume's group may have a file; others may not.
func TestTheModeOfASessionFile(t *testing.T) {
	t.Parallel()
	for mode := range os.FileMode(0o100) {
		mode |= 0o600
		var log journal
		file := filepath.Join(t.TempDir(), "session")
		require.NoError(t, os.WriteFile(file, nil, mode))
		require.NoError(t, os.Chmod(file, mode))
		s, err := session.New([]string{"127.0.0.1:1"}, session.WithSessionFile(file), log.warnings())
		if mode&0o007 != 0 {
			require.ErrorContains(t, err, "others may read or write it")
			continue
		}
		require.NoError(t, err)
		_ = s.Close(t.Context())
		require.Equal(t, mode&0o070 != 0, strings.Contains(log.String(), "a group may read or write the session file"), mode)
	}
}

// What the file tells of is kept as long as it may stand: a process that comes to nothing does not
// forget the one before, nor does one that is killed while it writes.
func TestASessionFileForgetsNobodyWhoMayStand(t *testing.T) {
	t.Parallel()
	host, err := os.Hostname()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "session")
	text := session.Saved(host, 0x100000000000001, make([]byte, 16), "127.0.0.1:1")
	longer := session.Saved(host, 0x200000000000001, make([]byte, 16), "127.0.0.1:1")
	require.Greater(t, len(longer), len(text))
	torn := append(bytes.Clone(text), longer[len(text):]...)
	for name, start := range map[string]func(s *session.Session){
		"it never started": func(*session.Session) {}, "there was no connection": session.Start,
	} {
		for _, before := range [][]byte{text, torn} {
			require.NoError(t, os.WriteFile(file, before, 0o600))
			s, err := session.New([]string{"127.0.0.1:1"}, session.WithSessionFile(file))
			require.NoError(t, err)
			start(s)
			_ = s.Close(t.Context())
			found, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(before), string(found), name)
		}
	}
}

// The variables of a child process.
const childServers, childFile = "TROUPE_TEST_SERVERS", "TROUPE_TEST_FILE"

// beChild is a process of the next test: it holds a znode, as soon as it can, until it is killed.
func beChild() {
	ctx := context.Background()
	s, err := session.Open(ctx, []string{os.Getenv(childServers)}, session.WithSessionFile(os.Getenv(childFile)), session.WithTimeout(40*time.Second))
	for err == nil {
		if _, err = s.Create(ctx, "/held", nil, session.Ephemeral()); err == nil {
			fmt.Println("held")
			time.Sleep(time.Hour)
		}
		if errors.Is(err, session.ErrNodeExists) {
			err = nil
			time.Sleep(10 * time.Millisecond)
		}
	}
	fmt.Println(err)
}

// Twenty processes are killed (kill -9) while they hold a znode, which the next one has long before
// the timeout of forty seconds. One that is only stopped keeps it.
func TestAKilledProcessIsSucceededAtOnce(t *testing.T) {
	tier.Real(t)
	w := onReal(t)
	s := w.open()
	file := filepath.Join(t.TempDir(), "session")
	child := func(ctx context.Context) (*exec.Cmd, bool) {
		cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), childServers+"="+s.Status().Server, childFile+"="+file)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if lines.Text() == "held" {
				return cmd, true
			}
		}
		_ = cmd.Wait()
		return cmd, false
	}
	for range 20 {
		began := time.Now()
		cmd, held := child(t.Context())
		require.True(t, held)
		require.Less(t, time.Since(began), 20*time.Second, "half of the timeout")
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
	}
	owner, held := child(t.Context())
	require.True(t, held)
	require.NoError(t, owner.Process.Signal(syscall.SIGSTOP))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, held = child(ctx)
	require.False(t, held, "the stopped one is not dead")
	require.NoError(t, owner.Process.Kill())
	_ = owner.Wait()
}
