package znode_test

// Whose a znode is: what is written of it, and what is read of what anybody may have written.

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/znode"
)

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

// What cannot be read whole, or shown, is data as any other.
func TestAnIdentityThatIsNotValidIsNobodys(t *testing.T) {
	t.Parallel()
	for _, data := range []string{
		"", "by ", "by {}\n", "by {\n", "by null\n", "by []\n", `by {"pid":1}`, `by {"pid":-1}` + "\n", `by {"pid":1e9}` + "\n", `by {"pid":"1"}` + "\n",
		`by {"name":5}` + "\n", `by {"name":"\u0007"}` + "\n", `by {"host":"\u202e"}` + "\n", "by {\"name\":\"\x1b\"}\n", "by {\"name\":\"\xff\"}\n",
		`by {"name":"` + strings.Repeat("n", 256) + `"}` + "\n", `x by {"pid":1}` + "\n", "held\n" + `by {"pid":1}` + "\n", `unlockby {"pid":1}` + "\n",
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
