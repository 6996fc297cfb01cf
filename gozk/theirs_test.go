package gozk_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// leftOut are those of go-zookeeper's tests of its connection that cannot hold for a view, or say
// nothing of one.
var leftOut = map[string]string{
	"TestIntegration_IncrementalReconfig": "a view does not change the ensemble: it has no IncrementalReconfig",
	"TestIntegration_Reconfig":            "a view does not change the ensemble: it has no Reconfig",
	"TestIntegration_MaxBufferSize":       "it is about WithMaxBufferSize of zk.Connect, and texts of its log; a session has WithMaxPacket",
	"TestIntegration_RecurringReAuthHang": "it replaces a private function of *zk.Conn",
	"TestIntegration_SlowServer":          "its server answers after two seconds; a call waits for a connection for one and a half, since TestRequestFail wants an error within two",
	"TestDeadlockInClose":                 "it makes a *zk.Conn of private fields",
	"TestNotifyWatches":                   "it makes a *zk.Conn of private fields; TestEventsOfWatches has its table",
}

// adapted are lines of theirs that touch private fields or options of zk.Connect, and what stands
// for them.
var adapted = strings.NewReplacer(
	"Connect([]string", "connect([]string",
	"WithEventCallback(", "withEventCallback(",
	"zk.sessionID = 99999\n\tzk.conn.Close()", "zk.expire()", // the number of a session that the server does not know
	"zk.sessionID", "zk.SessionID()",
	"zk.sessionTimeoutMs", "zk.timeout",
	`fmt.Sprintf("127.0.0.1:%d", ts.Servers[0].Port)`, "ts.address(0)",
)

// cuts are parts of their tests that cannot hold for a view, from one text to another, and what
// stands for them.
var cuts = []struct{ begin, end, instead string }{
	// The last part of TestIntegration_SetWatchers looks at the bytes of private requests.
	{"\t// Yay! All watches fired correctly.", "\n}\n\nfunc TestIntegration_ExpiringWatch", ""},
	// TestIntegration_NoQuorum counts an event for each attempt to connect, for six seconds. A view
	// says once that the connection is lost.
	{"\tvar firstDisconnect *Event", "\n\t// Start a ZooKeeper node to restore quorum.", "\ttime.Sleep(6 * time.Second)\n"},
}

// TestTheirs runs go-zookeeper's own tests of its calls on a view of a session, on the embedded
// server.
func TestTheirs(t *testing.T) {
	t.Parallel()
	theirs(t, "embedded")
}

// TestTheirsOnRealServers does so on real servers.
func TestTheirsOnRealServers(t *testing.T) {
	tier.Real(t)
	require.NoError(t, ensemble.Available()) // in this tier nothing is left out
	theirs(t, "real")
}

func theirs(t *testing.T, servers string) {
	t.Helper()
	library, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/go-zookeeper/zk").Output()
	require.NoError(t, err)
	from, to := strings.TrimSpace(string(library)), t.TempDir()
	here, err := filepath.Abs("theirs") // a folder that exists for this run of the compiler alone
	require.NoError(t, err)
	harness, err := filepath.Abs(filepath.Join("testdata", "harness_test.go"))
	require.NoError(t, err)
	overlay := map[string]string{filepath.Join(here, "harness_test.go"): harness}
	want := make(map[string]struct{})
	left := maps.Clone(leftOut)
	for _, name := range []string{"zk_test.go", "cluster_test.go", "conn_test.go", "throttle_test.go", "tcp_server_test.go"} {
		source, err := os.ReadFile(filepath.Join(from, name))
		require.NoError(t, err)
		overlay[filepath.Join(here, name)] = filepath.Join(to, name)
		require.NoError(t, os.WriteFile(filepath.Join(to, name), adapt(t, string(source), want, left), 0o600))
	}
	require.Empty(t, left, "left out, and not there")

	file := filepath.Join(to, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": overlay})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, text, 0o600))
	binary := filepath.Join(to, "theirs.test")
	out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-trimpath", "-vet=off", "-overlay", file, "-o", binary, "./theirs").CombinedOutput()
	require.NoError(t, err, "%s", out)
	names := slices.Sorted(maps.Keys(want))
	failed, out, err := run(t, binary, servers, names)
	if len(failed) > 0 { // once more, since their limits are in real time, and the machine may have been busy
		t.Logf("once more: %s\n%s", failed, out[max(0, len(out)-20000):])
		failed, out, err = run(t, binary, servers, failed)
	}
	require.NoError(t, err, "%s", out[max(0, len(out)-20000):])
	require.Empty(t, failed)
}

// run runs tests of theirs, and returns those that have not passed.
func run(t *testing.T, binary, servers string, names []string) (failed []string, out []byte, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, "-test.v", "-test.timeout=10m", "-test.run=^("+strings.Join(names, "|")+")$")
	cmd.Dir, cmd.Env = filepath.Dir(binary), append(os.Environ(), "THEIRS="+servers)
	out, err = cmd.CombinedOutput()
	for _, name := range names {
		if !bytes.Contains(out, []byte("--- PASS: "+name+" ")) {
			failed = append(failed, name)
		}
	}
	return failed, out, err
}

// adapt makes one of their files part of the package of the harness.
func adapt(t *testing.T, source string, want map[string]struct{}, left map[string]string) []byte {
	t.Helper()
	for _, c := range cuts {
		if before, cut, found := strings.Cut(source, c.begin); found {
			_, after, ends := strings.Cut(cut, c.end)
			require.True(t, ends, c.end)
			source = before + c.instead + c.end + after
		}
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", adapted.Replace(source), 0)
	require.NoError(t, err)
	file.Name.Name = "theirs"
	file.Decls = slices.DeleteFunc(file.Decls, func(d ast.Decl) bool {
		f, is := d.(*ast.FuncDecl)
		if !is || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") {
			return false
		}
		name := f.Name.Name
		if _, out := leftOut[name]; out {
			delete(left, name)
			return true
		}
		want[name] = struct{}{}
		return false
	})
	used := make(map[string]bool)
	for id := range ast.Preorder(file) {
		if s, is := id.(*ast.SelectorExpr); is {
			if x, is := s.X.(*ast.Ident); is {
				used[x.Name] = true
			}
		}
	}
	imports := file.Decls[0].(*ast.GenDecl) //nolint:forcetypeassert // the first declaration of a file
	imports.Specs = slices.DeleteFunc(imports.Specs, func(s ast.Spec) bool {
		is, err := strconv.Unquote(s.(*ast.ImportSpec).Path.Value)
		return err == nil && !used[path.Base(is)]
	})
	var out bytes.Buffer
	require.NoError(t, format.Node(&out, set, file))
	text := out.String()
	if strings.Contains(text, "Err") && strings.Contains(text, "func Test") {
		text = strings.Replace(text, "import (", "import (\n\t. \"github.com/go-zookeeper/zk\"", 1)
	}
	return []byte(text)
}
