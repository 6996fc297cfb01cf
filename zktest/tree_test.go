package zktest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/zktest"
)

func TestATreeIsThereFromTheBeginning(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		c := client(t, s, 10*time.Second)
		require.Equal(t, "hello", string(c.must(t, jute.Request{Op: jute.OpGetData, Path: "/app"}).Data))
		require.Equal(t, "/app/jobs/0000000017", c.must(t, create("/app/jobs/", jute.FlagSequential)).Path)
		p, err := c.do(jute.Request{Op: jute.OpSetData, Path: "/app/safe", Version: -1})
		require.NoError(t, err)
		require.Equal(t, jute.NoAuth, p.Err)

		require.NoError(t, s.Load(`{"path": "/app/safe", "data": "open"}`))
		c.must(t, jute.Request{Op: jute.OpSetData, Path: "/app/safe", Data: []byte("mine"), Version: -1})
		require.Error(t, s.Load("safe"))
		text, err := s.Tree()
		require.NoError(t, err)
		require.Equal(t, []string{
			`{"path":"/app","data":"hello"}`, `{"path":"/app/jobs","sequence":18}`, `{"path":"/app/jobs/0000000017","data":"data"}`,
			`{"path":"/app/safe","data":"mine"}`,
		}, strings.Fields(text))
		again, err := zktest.New(zktest.WithTree(text))
		require.NoError(t, err)
		defer again.Close()
		same, err := again.Tree()
		require.NoError(t, err)
		require.Equal(t, text, same)
	}, zktest.WithTree(`
		{"path": "/app", "data": "hello"}
		{"path": "/app/jobs", "sequence": 17}
		{"path": "/app/safe", "acl": [{"perms": "r", "scheme": "world", "id": "anyone"}]}`))
}
