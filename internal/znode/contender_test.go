package znode_test

// The names of contenders of all libraries, how they are ordered, and what their data contain:
// notes at the head, and whose the znode is. B20 to B22: see docs/testing.md.

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/internal/znode"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// layouts are the names that the clients on one path may have, with what is to be read out of them.
var layouts = map[string]struct {
	head       string // the name but for the number
	guid       znode.GUID
	kind       znode.Kind
	prefix     string
	weight     int
	downgrades bool
}{
	"our lock":                          {"_c_" + uuid + "-lock-", uuid, znode.Lock, "lock-", 1, false},
	"our read":                          {"_c_" + uuid + "-read-", uuid, znode.Read, "read-", 1, false},
	"our write":                         {"_c_" + uuid + "-write-", uuid, znode.Write, "write-", 1, true},
	"our lease":                         {"_c_" + uuid + "-lease-3-", uuid, znode.Lease, "lease-", 3, false},
	"our heaviest lease":                {"_c_" + uuid + "-lease-2147483647-", uuid, znode.Lease, "lease-", math.MaxInt32, false},
	"our candidate":                     {"_c_" + uuid + "-n_", uuid, znode.Candidate, "n_", 1, false},
	"Curator's InterProcessMutex":       {"_c_" + uuid + "-lock-", uuid, znode.Lock, "lock-", 1, false},
	"Curator's read lock":               {"_c_" + uuid + "-__READ__", uuid, znode.Read, "__READ__", 1, false},
	"Curator's write lock":              {"_c_" + uuid + "-__WRIT__", uuid, znode.Write, "__WRIT__", 1, true},
	"Curator's InterProcessSemaphoreV2": {"_c_" + uuid + "-lease-", uuid, znode.Lease, "lease-", 1, false},
	"Curator's LeaderLatch":             {"_c_" + uuid + "-latch-", uuid, znode.Candidate, "latch-", 1, false},
	"Curator's, unprotected":            {"__READ__", "", znode.Read, "__READ__", 1, false},
	"go-zookeeper's Lock":               {"_c_" + hex + "-lock-", hex, znode.Lock, "lock-", 1, false},
	"kazoo's Lock":                      {hex + "__lock__", hex, znode.Write, "__lock__", 1, true},
	"kazoo's ReadLock":                  {hex + "__rlock__", hex, znode.Read, "__rlock__", 1, false},
	"ZooKeeper's WriteLock":             {"x-72057594037927937-", "", znode.Lock, "x-", 1, false},
	"the same, of server 128":           {"x--9223372036854775807-", "", znode.Lock, "x-", 1, false},
	"LeaderElectionSupport":             {"n_", "", znode.Candidate, "n_", 1, false},
	"ZooKeeper's recipe page, lock":     {uuid + "-lock-", uuid, znode.Lock, "lock-", 1, false},
	"ZooKeeper's recipe page, read":     {uuid + "-read-", uuid, znode.Read, "read-", 1, false},
	"ZooKeeper's recipe page, write":    {uuid + "-write-", uuid, znode.Write, "write-", 1, true},
	"ZooKeeper's recipe page, election": {uuid + "-n_", uuid, znode.Candidate, "n_", 1, false},
	"the same, a GUID without dashes":   {hex + "-lock-", hex, znode.Lock, "lock-", 1, false},
	"an older recipe page":              {"read-", "", znode.Read, "read-", 1, false},
	"an older recipe page, too":         {"write-", "", znode.Write, "write-", 1, true},
	"a lock without GUID":               {"lock-", "", znode.Lock, "lock-", 1, false},
}

// numbers are what a parent's counter goes through: up to the end of int32, and B20, beyond it.
var numbers = []int32{0, 1, 42, 999999999, 1000000000, math.MaxInt32, math.MinInt32, -1999999999, -1000000000, -999999999, -42, -1}

func TestB20_EveryLibrarysContenderIsRead(t *testing.T) {
	t.Parallel()
	for name, l := range layouts {
		for _, n := range numbers {
			full := l.head + fmt.Sprintf("%010d", n)
			c, ok := znode.ParseContender(full)
			require.True(t, ok, full)
			require.Equal(t, strings.HasPrefix(name, "our") && l.kind == znode.Lease, c.Marks(), "whether its data say that it is granted")
			require.Equal(t, [5]any{full, l.guid, l.kind, l.prefix, n}, [5]any{c.Name, c.GUID, c.Kind, c.Prefix, c.Seq}, name)
			require.Equal(t, l.weight, c.Weight, name)
			require.Equal(t, l.downgrades, c.Downgrades(), name)
			checkDowngraded(t, c)
		}
	}
}

// checkDowngraded checks that the contender that takes a writer's place is a reader of the same
// library, with the same number and a GUID of its own.
func checkDowngraded(t *testing.T, writer znode.Contender) {
	g := znode.NewGUID()
	name, ok := writer.Downgraded(g)
	require.Equal(t, writer.Downgrades(), ok)
	if !ok {
		return
	}
	require.Equal(t, znode.Write, writer.Kind)
	c, ok := znode.ParseContender(name)
	require.True(t, ok, name)
	require.Equal(t, znode.Read, c.Kind)
	require.Equal(t, writer.Seq, c.Seq)
	require.Equal(t, strings.ReplaceAll(string(g), "-", ""), strings.ReplaceAll(string(c.GUID), "-", ""))
	require.False(t, c.Downgrades())
}

// B22: names that are no contender's.
func TestB22_OtherNamesAreNobodysContenders(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"", "foo", "_c_x", "_c_", "locks", "leases", "lock", "lock-", "lock-x", "lock-1", "n_", "0000000001", "-000000001", "-0000000001", "_0000000001",
		"foo-0000000001", "foo_0000000001", "lock0000000001", "LOCK-0000000001", "xlock-0000000001", "__WRITE__0000000001",
		"lock-00000000001", "lock-000000001", "lock-2147483648", "lock--2147483649", "lock-9999999999", "lock-+000000001", "lock--0000000000",
		"lock-٠٠٠٠٠٠٠٠٠١", "lock-00000 0001", "lock-0x00000001", "lock-1_000_000_0", "lock-0000000001 ", "lock-0000000001/x",
		"lock--000000000", "lock---000000001", "lock-0000000001-unlock",
		"lease-0-0000000001", "lease-03-0000000001", "lease-+3-0000000001", "lease--3-0000000001", "lease-x-0000000001", "lease-2147483648-0000000001", "lease-3_0000000001", "lease-3-4-0000000001",
		"x-0000000001", "x--0000000001", "x-+5-0000000001", "x-y-0000000001", "x-99999999999999999999-0000000001", "x-5_0000000001",
		"_c_" + uuid + "-x-5-0000000001", "_c_" + uuid + "0000000001", "_c_" + uuid + "-0000000001", "_c_" + uuid + "lock-0000000001", "_c_" + uuid[1:] + "-lock-0000000001",
		hex + "lock-0000000001", uuid + "lock-0000000001", uuid + "-0000000001", uuid + "-x-5-0000000001", uuid + "-_c_" + uuid + "-lock-0000000001", uuid[1:] + "-lock-0000000001", hex[1:] + "__lock__0000000001", hex + "__READ__0000000001", uuid + "__lock__0000000001", "_c_" + uuid + "-" + hex + "__lock__0000000001",
		"queue-5-0000000001", "entry-100-0000000001", "member-0000000001", "\xff\xfe-0000000001", strings.Repeat("-", 11), strings.Repeat("9", 40),
	} {
		c, ok := znode.ParseContender(name)
		require.False(t, ok, "%s is taken for %+v", name, c)
		require.Zero(t, c, name)
	}
}

// B21: contenders of all layouts on one path are in the order of their numbers, whatever their
// names begin with.
func TestB21_OnlyTheNumberOrders(t *testing.T) {
	t.Parallel()
	var names, want []string
	seq := int32(math.MaxInt32 - 10) // and over the end
	for range 5 {
		for _, l := range layouts {
			names = append(names, l.head+fmt.Sprintf("%010d", seq))
			seq++
		}
	}
	want = slices.Clone(names)
	rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	slices.SortFunc(names, func(a, b string) int {
		ca, _ := znode.ParseContender(a)
		cb, _ := znode.ParseContender(b)
		return znode.CompareSeq(ca.Seq, cb.Seq)
	})
	require.Equal(t, want, names)
}

func TestContendersAreInOrderAndSayWhetherTheirNumbersAre(t *testing.T) {
	t.Parallel()
	l := znode.NewContenders([]string{"lock-0000000007", "strange", "read-0000000003", "lock-0000000005"})
	require.False(t, l.Ambiguous)
	require.Len(t, l.Contenders, 3)
	require.Equal(t, "read-0000000003", l.Contenders[0].Name)
	require.Equal(t, "lock-0000000007", l.Contenders[2].Name)
	require.True(t, znode.NewContenders([]string{"lock-0000000007", "read-0000000007"}).Ambiguous, "the same number")
	require.True(t, znode.NewContenders([]string{"lock-2147483647"}).Ambiguous, "the last one, at which numbers stick")
	require.True(t, znode.NewContenders([]string{"lock--2147483648"}).Ambiguous, "they have wrapped around")
}

// However long a listing is, it costs two pieces of memory.
func TestContendersAreMadeWithoutGarbage(t *testing.T) {
	names := make([]string, 1000)
	for i := range names {
		names[i] = znode.Protect(znode.NewGUID(), fmt.Sprintf("lock-%010d", i))
	}
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { znode.NewContenders(names) }), 2.0)
}

func TestKindsHaveNames(t *testing.T) {
	t.Parallel()
	kinds := []znode.Kind{znode.Other, znode.Lock, znode.Read, znode.Write, znode.Lease, znode.Candidate, 6, -1}
	require.Equal(t, "[other lock read write lease candidate Kind(6) Kind(-1)]", fmt.Sprint(kinds))
}

func FuzzParseContender(f *testing.F) {
	for _, l := range layouts {
		for _, n := range numbers {
			f.Add(l.head + fmt.Sprintf("%010d", n))
		}
	}
	f.Add("_c_x")
	f.Add("lock--0000000000")
	f.Fuzz(func(t *testing.T, name string) {
		head, seq, numbered := znode.Sequence(name)
		if numbered {
			require.Equal(t, name, head+fmt.Sprintf("%010d", seq))
		}
		g, rest, protected := znode.Protection(name)
		if protected {
			require.Equal(t, name, znode.Protect(g, rest))
		}
		c, ok := znode.ParseContender(name)
		if !ok {
			require.Zero(t, c)
			return
		}
		require.True(t, numbered)
		require.Equal(t, seq, c.Seq)
		require.Equal(t, name, c.Name)
		require.Contains(t, name, c.Prefix)
		require.Contains(t, name, string(c.GUID))
		require.True(t, c.Kind > znode.Other && c.Kind <= znode.Candidate)
		require.Positive(t, c.Weight)
		require.True(t, c.Weight == 1 || c.Kind == znode.Lease)
		if protected {
			require.Equal(t, g, c.GUID)
			bare, ok := znode.ParseContender(rest)
			require.True(t, ok, "protected or not, it is the same contender")
			require.Equal(t, [4]any{c.Kind, c.Prefix, c.Seq, c.Weight}, [4]any{bare.Kind, bare.Prefix, bare.Seq, bare.Weight})
		}
	})
}

func TestAnIdentityIsOneLineOf256Bytes(t *testing.T) {
	t.Parallel()
	full := znode.Identity{Host: "a", PID: 812, Program: "orders", Name: "orders-7"}
	require.Equal(t, `by {"host":"a","pid":812,"program":"orders","name":"orders-7"}`+"\n", full.Note())
	require.Empty(t, znode.Identity{}.Note())
	require.Nil(t, znode.Identity{}.JSON())
	for name, i := range map[string]znode.Identity{
		"long":        {Host: strings.Repeat("h", 300), PID: math.MaxInt32, Program: strings.Repeat("p", 300), Name: strings.Repeat("n", 100)},
		"wide":        {Host: strings.Repeat("ä", 300), PID: 1, Program: "p"},
		"quoted":      {Host: strings.Repeat(`"`, 300), PID: 1, Program: strings.Repeat("<", 300)},
		"unprintable": {Host: "a\x1b[2J", PID: 1, Program: "p\n", Name: "n"},
	} {
		line := i.Note()
		require.LessOrEqual(t, len(line), 256, name)
		require.Equal(t, 1, strings.Count(line, "\n"), name)
		read, rest := znode.CutIdentity([]byte(line + "data"))
		require.Equal(t, "data", string(rest), name)
		require.Equal(t, i.Name, read.Name, name)
		require.Equal(t, i.PID, read.PID, name)
		require.True(t, strings.HasPrefix(i.Host, read.Host), name)
		require.True(t, strings.HasPrefix(i.Program, read.Program), name)
	}
}

func TestAnIdentityIsReadAsText(t *testing.T) {
	t.Parallel()
	for want, i := range map[string]znode.Identity{
		"orders-7 on host a (pid 812)": {Host: "a", PID: 812, Program: "orders", Name: "orders-7"},
		"orders on host a (pid 812)":   {Host: "a", PID: 812, Program: "orders"},
		"a process (pid 812)":          {PID: 812},
		"orders-7":                     {Name: "orders-7"},
		"":                             {},
	} {
		require.Equal(t, want, i.String())
	}
}

// A line that cannot be read whole, or shown, is data like any other.
func TestAnIdentityThatIsNotValidIsNobodys(t *testing.T) {
	t.Parallel()
	for _, data := range []string{
		"", "by ", "by {}\n", "by {\n", "by null\n", "by []\n", `by {"pid":1}`, `by {"pid":-1}` + "\n", `by {"pid":1e9}` + "\n", `by {"pid":"1"}` + "\n",
		`by {"name":5}` + "\n", `by {"name":"\u0007"}` + "\n", `by {"host":"\u202e"}` + "\n", "by {\"name\":\"\x1b\"}\n", "by {\"name\":\"\xff\"}\n",
		`by {"name":"` + strings.Repeat("n", 256) + `"}` + "\n", `x by {"pid":1}` + "\n", "held\n" + `by {"pid":1}` + "\n", `unlockby {"pid":1}` + "\n", `by  {"pid":1}` + "\n",
	} {
		i, rest := znode.CutIdentity([]byte(data))
		require.Zero(t, i, "%q", data)
		require.Equal(t, data, string(rest), "%q", data)
	}
	for data, want := range map[string]string{
		`by {"pid":1}` + "\nme":                       "me",
		`by {"pid":1,"later":[]}` + "\n":              "",
		"unlock\n" + `by {"pid":1}` + "\nme":          "unlock\nme",
		`by {"pid":1}` + "\n" + `by {"pid":2}` + "\n": `by {"pid":2}` + "\n",
	} {
		i, rest := znode.CutIdentity([]byte(data))
		require.Equal(t, 1, i.PID, "%q", data)
		require.Equal(t, want, string(rest), "%q", data)
	}
}

func TestNotesAreReadFromTheHeadOfTheData(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]struct {
		notes znode.Notes
		text  string
	}{
		"":                             {},
		"me":                           {text: "me"},
		"held":                         {text: "held"},
		"held\n":                       {notes: znode.Notes{Held: true}},
		"held\nme\nand mine":           {notes: znode.Notes{Held: true}, text: "me\nand mine"},
		"held\nheld\n":                 {notes: znode.Notes{Held: true}, text: "held\n"},
		"unlock":                       {notes: znode.Notes{Unlock: true}},
		"unlocked":                     {notes: znode.Notes{Unlock: true}},
		"unlock\nme":                   {notes: znode.Notes{Unlock: true}, text: "me"},
		"unlock\nheld\nme":             {notes: znode.Notes{Unlock: true, Held: true}, text: "me"},
		"placed 47\nme":                {notes: znode.Notes{Placed: 47}, text: "me"},
		"placed 47":                    {text: "placed 47"},
		"placed 0\n":                   {text: "placed 0\n"},
		"placed -1\n":                  {text: "placed -1\n"},
		"placed x\n":                   {text: "placed x\n"},
		"placed 9223372036854775808\n": {text: "placed 9223372036854775808\n"},
		"unlock\nheld\nplaced 1\nme":   {notes: znode.Notes{Unlock: true, Held: true, Placed: 1}, text: "me"},
		"held\nunlock\n":               {notes: znode.Notes{Held: true}, text: "unlock\n"},
	} {
		notes, text := znode.ParseNotes([]byte(data))
		require.Equal(t, want.notes, notes, "%q", data)
		require.Equal(t, want.text, string(text), "%q", data)
	}
}

func TestAHolderIsAskedByItsData(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]bool{
		"": false, "unloc": false, "unlock": true, "unlock\nmine": true, "unlocked": true, "Unlock": false, "mine\nunlock": false, "held unlock": false,
	} {
		require.Equal(t, want, znode.Revoked([]byte(data)), data)
		require.True(t, znode.Revoked(znode.WithUnlock([]byte(data))), data)
		require.Equal(t, znode.Unlock+"\n"+data, string(znode.WithUnlock([]byte(data))), data)
	}
	require.False(t, znode.Revoked(nil))
	require.Equal(t, "unlock\n", string(znode.WithUnlock(nil)))
}

func TestOwnDataAreNotTakenForNotes(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		"": "", "me": "me", "held": "held", "held by me": "held by me", "placed 47": "placed 47", "by me": "by me",
		"unlock": "\nunlock", "unlocked": "\nunlocked", "held\n": "\nheld\n", "placed 47\nme": "\nplaced 47\nme", "by {": "\nby {",
		"\n": "\n\n", "\nme": "\n\nme", "\n\nheld\n": "\n\n\nheld\n",
	} {
		shielded := znode.Shield([]byte(data))
		require.Equal(t, want, string(shielded), "%q", data)
		require.Equal(t, data, string(znode.Unshield(shielded)), "%q", data)
		notes, _ := znode.ParseNotes(shielded)
		require.Zero(t, notes, "%q", data)
	}
	require.Equal(t, "\nme", string(znode.Unshield([]byte("\nme"))), "another library's")
}

func FuzzNotes(f *testing.F) {
	f.Add([]byte("unlock\nheld\nplaced 47\nme"))
	f.Add([]byte("unlocked"))
	f.Fuzz(func(t *testing.T, data []byte) {
		require.Equal(t, string(data), string(znode.Unshield(znode.Shield(data))))
		notes, text := znode.ParseNotes(data)
		require.Equal(t, znode.Revoked(data), notes.Unlock)
		if inner, _ := znode.ParseNotes(text); inner != (znode.Notes{}) {
			return // written twice, by another process
		}
		again, rest := znode.ParseNotes(notes.Write(text))
		require.Equal(t, notes, again)
		require.Equal(t, string(text), string(rest))
	})
}
