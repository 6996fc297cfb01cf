package misuse_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/session"
)

// sessions are misuses of how a session is made.
func sessions(w *world) []row {
	with := func(opts ...session.Option) func() error {
		return func() error { return of(session.New([]string{"a:2181"}, opts...)) }
	}
	closed := actors.New()
	require.NoError(w, closed.Close(w.Context()))
	rows := []row{
		{"session.Open: no servers", func() error { return of(session.Open(w.Context(), nil)) }, nil, "servers: none"},
		{"session.New: a nil option", with(nil), nil, "opts[0]: nil"},
		{"session.WithTimeout: a bare number", with(session.WithTimeout(10)), nil, "WithTimeout: 10ns is not possible: did you mean 10*time.Second?"},
		{"session.WithTick: too long", with(session.WithTimeout(3*time.Second), session.WithTick(2*time.Second)), nil, "WithTick: "},
		{"session.WithTrustMargin: the timeout", with(session.WithTimeout(time.Second), session.WithTrustMargin(time.Second)), nil, "WithTrustMargin: "},
		{"session.WithAuth: no scheme", with(session.WithAuth("", []byte("x"))), nil, "WithAuth: scheme: empty"},
		{"session.WithTLS: nil", with(session.WithTLS(nil)), nil, "WithTLS: nil"},
		{"session.WithDialer: nil", with(session.WithDialer(nil)), nil, "WithDialer: nil"},
		{"session.WithLogger: nil", with(session.WithLogger(nil)), nil, "WithLogger: nil"},
		{"session.WithSystem: nil", with(session.WithSystem(nil)), nil, "WithSystem: nil"},
		{"session.WithSystem: closed", with(session.WithSystem(closed)), actors.ErrStopped, "WithSystem: "},
	}
	add := func(what string, try func() error, is error, says string) {
		rows = append(rows, row{what, try, is, says})
	}
	for _, bad := range []struct {
		servers []string
		says    string
	}{
		{nil, "servers: none"},
		{[]string{}, "servers: none"},
		{[]string{"a:1", ""}, "servers[1]: "},
		{[]string{"a b:1"}, "servers[0]: "},
		{[]string{"a:zookeeper"}, "servers[0]: "},
		{[]string{"a:0"}, "servers[0]: "},
		{[]string{"a:65536"}, "servers[0]: "},
		{[]string{":2181"}, "servers[0]: "},
		{[]string{"a:1:2"}, "servers[0]: "},
		{[]string{"[::1"}, "servers[0]: "},
		{[]string{"a:1/b//c"}, "servers[0]: chroot "},
		{[]string{"a:1/b", "c:1/d"}, "servers[1]: chroot "},
		{[]string{"zk://a:1"}, "servers[0]: \"zk://a:1\": without a scheme: host:port"},
		{[]string{"https://a"}, "servers[0]: \"https://a\": without a scheme: host:port"},
	} {
		add(fmt.Sprintf("session.New: servers %q", bad.servers), func() error { return of(session.New(bad.servers)) }, nil, bad.says)
	}
	for _, d := range []time.Duration{0, -1, -time.Second, forever, (math.MaxInt32 + 1) * time.Millisecond} {
		add(fmt.Sprintf("session.WithTimeout: %v", d), with(session.WithTimeout(d)), nil, "WithTimeout: ")
	}
	for _, d := range []time.Duration{0, -1, forever} {
		add(fmt.Sprintf("session.WithTick: %v", d), with(session.WithTick(d)), nil, "WithTick: ")
		add(fmt.Sprintf("session.WithTrustMargin: %v", d), with(session.WithTrustMargin(d)), nil, "WithTrustMargin: ")
	}
	for _, n := range []int{0, -1, 1023, math.MaxInt32 + 1, math.MaxInt} {
		add(fmt.Sprintf("session.WithMaxPacket: %d", n), with(session.WithMaxPacket(n)), nil, "WithMaxPacket: ")
	}
	for _, path := range notPaths {
		add(fmt.Sprintf("session.WithNamespace: %q", path), with(session.WithNamespace(path)), session.ErrInvalidPath, "WithNamespace: ")
	}
	for i, acl := range notACLs {
		add(fmt.Sprintf("session.WithACL: ACL %d", i), with(session.WithACL(acl...)), session.ErrInvalidACL, "WithACL: ")
	}
	for name, says := range notFiles(w) {
		add(fmt.Sprintf("session.WithSessionFile: %q", name), with(session.WithSessionFile(name)), nil, "WithSessionFile: …"+says)
	}
	return rows
}

// notFiles are what can't be a session file, and what is said of each.
func notFiles(w *world) map[string]string {
	dir := w.TempDir()
	open, link, taken := filepath.Join(dir, "open"), filepath.Join(dir, "link"), filepath.Join(dir, "taken")
	require.NoError(w, os.WriteFile(open, nil, 0o600))
	require.NoError(w, os.Chmod(open, 0o640))
	require.NoError(w, os.Symlink(open, link))
	w.Unconnected(session.WithSessionFile(taken))
	return map[string]string{
		"": "file: empty", open: "others may read", link: "symbolic link", dir: "directory", taken: "another session of this process",
		filepath.Join(open, "x"): "not a directory", "/dev/null": "no regular file",
	}
}

// errNothing stands for what is no mistake: no option there.
var errNothing = errors.New("it means nothing")

// operations are misuses of what a session does.
func operations(w *world) []row {
	create := func(opts ...session.CreateOption) func() error {
		return func() error { return of(w.s.Create(w.Context(), "/a", nil, opts...)) }
	}
	multi := func(ops ...session.Op) func() error {
		return func() error { return of(w.s.Multi(w.Context(), ops...)) }
	}
	var none *session.Hold
	rows := []row{
		{"session.Create: no parent", func() error {
			return of(w.s.Create(w.Context(), "/no/such/parent", nil))
		}, session.ErrNoNode, "that is its parent, which Parents() makes"},
		{"session.Create: too large", func() error { return of(w.s.Create(w.Context(), "/a", large)) }, session.ErrTooLarge, "create /a: "},
		{"session.Container: ephemeral", create(session.Container(), session.Ephemeral()), nil, "Container"},
		{"session.Container: sequential", create(session.Container(), session.Sequential()), nil, "Container"},
		{"session.Container: with a TTL", create(session.Container(), session.TTL(time.Second)), nil, "Container"},
		{"session.TTL: ephemeral", create(session.TTL(time.Second), session.Ephemeral()), nil, "TTL"},
		{"session.Multi: no operations", multi(), nil, "ops: "},
		{"session.Multi: the zero operation", multi(session.Op{}), nil, "ops[0]: "},
		{"session.Op.Under: nil", multi(session.CheckOp("/", -1).Under(nil)), session.ErrLost, "Under: p: "},
		{"session.Op.Under: a nil hold", multi(session.CheckOp("/", -1).Under(none)), session.ErrLost, "Under: p: "},
		{"session.Within: nil", func() error {
			ctx, cancel := session.Within(w.Context(), nil)
			defer cancel()
			return context.Cause(ctx)
		}, nil, "session.Within: p: "},
		{"session.CloseWithin: a closed session", func() error { return w.closed.Connect(w.Context()) }, session.ErrClosed, "connect: "},
		{"recipe.New: no session", func() error { return of(recipe.New(recipe.Config{})) }, nil, "Session: nil"},
		{"recipe.NewClaims: no session", func() error {
			return of(recipe.NewClaims(recipe.ClaimsConfig[int]{}))
		}, nil, "Session: nil"},
		{"recipe.New: no machine", func() error { return of(recipe.New(recipe.Config{Session: w.s})) }, nil, "Machine: nil"},
		{"recipe.NewClaims: no machine", func() error {
			return of(recipe.NewClaims(recipe.ClaimsConfig[int]{Session: w.s}))
		}, nil, "Machine: nil"},
		{"actors.Spawn: no constructor", func() error {
			return of(actors.Spawn(w.System().Scope(), actors.Spec[int]{Name: "nobody"}))
		}, nil, "Spec.New is nil"},
		{"actors.Spawn: the zero scope", func() error {
			return of(actors.Spawn(actors.Scope{}, actors.Spec[int]{New: func(actors.Self[int]) actors.Receiver[int] { return nil }}))
		}, actors.ErrStopped, ""},
		{"actors.New: what means nothing", func() error {
			actors.New(nil, actors.WithLogger(nil), actors.WithRestarts(actors.Restarts{Min: -1, Max: -1, Limit: -1, Within: -1}))
			return errNothing
		}, errNothing, ""},
	}
	add := func(what string, try func() error, is error, says string) {
		rows = append(rows, row{what, try, is, says})
	}
	for what, opt := range map[string]session.CreateOption{
		"nil": nil, "TTL 0": session.TTL(0), "TTL negative": session.TTL(-1), "TTL of the largest": session.TTL(forever), "NodeACL of none": session.NodeACL(),
	} {
		says := map[bool]string{true: what[:min(len(what), 3)], false: "option"}[opt != nil]
		if what[0] == 'N' {
			says = "NodeACL"
		}
		add("session.Create: "+what, create(opt), nil, says)
		add("session.CreateOp: "+what, multi(session.CreateOp("/a", nil, opt)), nil, "ops[0]: "+says)
	}
	for what, opt := range map[string]session.CreateOption{
		"Container": session.Container(), "TTL": session.TTL(time.Second), "Parents": session.Parents(), "Protected": session.Protected(),
	} {
		add("session.CreateOp: "+what, multi(session.CheckOp("/", -1), session.CreateOp("/a", nil, opt)), session.ErrUnsupported, "ops[1]: ")
	}
	for i, acl := range notACLs {
		add(fmt.Sprintf("session.NodeACL: ACL %d", i), create(session.NodeACL(acl...)), session.ErrInvalidACL, "NodeACL")
		add(fmt.Sprintf("session.SetACL: ACL %d", i), func() error {
			return of(w.s.SetACL(w.Context(), "/a", acl, -1))
		}, session.ErrInvalidACL, "acl")
	}
	return rows
}
