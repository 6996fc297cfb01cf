package fxmodule_test

// Config: what is valid, how it is read, and that its secret is written nowhere.

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/troupe-go/troupe/fxmodule"
)

func TestTheDefaultIsValid(t *testing.T) {
	t.Parallel()
	cfg := fxmodule.Default("localhost:2181")
	require.NoError(t, cfg.Validate())
	require.Equal(t, fxmodule.Duration(10*time.Second), cfg.Timeout)
	require.Equal(t, fxmodule.StartupWait, cfg.Startup)
	require.NoError(t, fxmodule.Config{Embedded: true}.Validate(), "what is left out has its default")
}

const written = `
servers: [zk1:2181, "zk2:2181/app"]
namespace: /orders
timeout: 6s
startup: lazy
authScheme: digest
authSecret: bob:hunter2
tls: {enabled: true, caFile: /etc/ca.pem}
`

func TestConfigurationIsRead(t *testing.T) {
	t.Parallel()
	var fromYAML fxmodule.Config
	require.NoError(t, yaml.Unmarshal([]byte(written), &fromYAML))
	want := fxmodule.Config{
		Servers: []string{"zk1:2181", "zk2:2181/app"}, Namespace: "/orders", Timeout: fxmodule.Duration(6 * time.Second),
		Startup: fxmodule.StartupLazy, AuthScheme: "digest", AuthSecret: "bob:hunter2", TLS: fxmodule.TLS{Enabled: true, CAFile: "/etc/ca.pem"},
	}
	require.Equal(t, want, fromYAML)

	var anything map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(written), &anything))
	text := must(json.Marshal(anything))
	var fromJSON fxmodule.Config
	require.NoError(t, json.Unmarshal(text, &fromJSON))
	require.Equal(t, want, fromJSON)

	require.ErrorContains(t, yaml.Unmarshal([]byte("timeout: soon"), &fromYAML), `"soon"`)
}

// TestTheDocumentedConfigurationIsRead: docs/fx.md names no field that there isn't.
func TestTheDocumentedConfigurationIsRead(t *testing.T) {
	t.Parallel()
	page := must(os.ReadFile("../docs/fx.md"))
	_, block, found := strings.Cut(string(page), "```yaml\n")
	require.True(t, found)
	block, _, found = strings.Cut(block, "```")
	require.True(t, found)
	var cfg fxmodule.Config
	decoder := yaml.NewDecoder(strings.NewReader(block))
	decoder.KnownFields(true)
	require.NoError(t, decoder.Decode(&cfg))
	cfg.TLS.CAFile = "" // a file of the reader's
	require.NoError(t, cfg.Validate())
}

// TestEveryFieldHasItsTags: each field has a name for YAML, JSON and the environment.
func TestEveryFieldHasItsTags(t *testing.T) {
	t.Parallel()
	var check func(of reflect.Type)
	check = func(of reflect.Type) {
		for f := range of.Fields() {
			for _, tag := range []string{"yaml", "json"} {
				require.NotEmpty(t, f.Tag.Get(tag), "%s has no tag %s", f.Name, tag)
			}
			if f.Type.Kind() == reflect.Struct {
				require.NotEmpty(t, f.Tag.Get("envPrefix"), f.Name)
				check(f.Type)
				continue
			}
			require.NotEmpty(t, f.Tag.Get("env"), f.Name)
		}
	}
	check(reflect.TypeFor[fxmodule.Config]())
}

// TestASecretIsNotWritten anywhere that a Config could end up.
func TestASecretIsNotWritten(t *testing.T) {
	t.Parallel()
	cfg := fxmodule.Default("localhost:2181")
	cfg.AuthScheme, cfg.AuthSecret = "digest", "bob:hunter2"
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "config", cfg, "secret", cfg.AuthSecret)
	asJSON := must(json.Marshal(cfg))
	asYAML := must(yaml.Marshal(cfg))
	for _, out := range []string{log.String(), string(asJSON), string(asYAML), fmt.Sprintf("%v %+v %#v %s", cfg, cfg, cfg, cfg.AuthSecret)} {
		require.NotContains(t, out, "hunter2")
		require.Contains(t, out, "redacted")
	}
}
