package fxmodule_test

// Config: what is valid, how it is read, and that its secret is written nowhere.

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
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

func TestValidateNamesEveryWrongField(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing.pem")
	for name, c := range map[string]struct {
		wrong  fxmodule.Config
		fields []string
	}{
		"nothing is right": {
			fxmodule.Config{
				Namespace: "relative", Timeout: -1, Tick: -1, Startup: "later", MaxPacket: -1, AuthScheme: "digest",
				TLS: fxmodule.TLS{CertFile: "x"}, EmbeddedListen: "nonsense",
			},
			[]string{
				"Servers", "Namespace", "EmbeddedListen", "EmbeddedListen", "Timeout", "Tick", "Startup", "MaxPacket", "AuthSecret", "TLS.Enabled", "TLS.KeyFile",
			},
		},
		"two kinds of servers":   {fxmodule.Config{Servers: []string{"a:1"}, Embedded: true}, []string{"Embedded"}},
		"an address":             {fxmodule.Config{Servers: []string{"no port:x:y"}}, []string{"Servers"}},
		"a secret alone":         {fxmodule.Config{Embedded: true, AuthSecret: "bob:hunter2"}, []string{"AuthScheme"}},
		"nobody's znodes":        {fxmodule.Config{Embedded: true, Private: true}, []string{"Private"}},
		"encryption in memory":   {fxmodule.Config{Embedded: true, TLS: fxmodule.TLS{Enabled: true}}, []string{"Embedded"}},
		"files that are missing": {fxmodule.Config{Servers: []string{"a:1"}, TLS: fxmodule.TLS{Enabled: true, CAFile: missing, CertFile: missing, KeyFile: missing}}, []string{"TLS.CAFile", "TLS.CertFile"}},
		"a key alone":            {fxmodule.Config{Servers: []string{"a:1"}, TLS: fxmodule.TLS{Enabled: true, KeyFile: missing}}, []string{"TLS.CertFile"}},
		"half a tick":            {fxmodule.Config{Embedded: true, Timeout: fxmodule.Duration(time.Second), Tick: fxmodule.Duration(time.Second)}, []string{"Tick"}},
		"no time at all":         {fxmodule.Config{Embedded: true, Timeout: 1}, []string{"Timeout"}},
		"a port":                 {fxmodule.Config{Embedded: true, EmbeddedListen: "localhost:http"}, []string{"EmbeddedListen"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for line := range strings.Lines(c.wrong.Validate().Error()) {
				field, isOne := strings.CutPrefix(line, "fxmodule: Config.")
				require.True(t, isOne, line)
				field, _, _ = strings.Cut(field, ":")
				got = append(got, field)
			}
			require.ElementsMatch(t, c.fields, got)
		})
	}
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
	text, err := json.Marshal(anything)
	require.NoError(t, err)
	var fromJSON fxmodule.Config
	require.NoError(t, json.Unmarshal(text, &fromJSON))
	require.Equal(t, want, fromJSON)

	require.ErrorContains(t, yaml.Unmarshal([]byte("timeout: soon"), &fromYAML), `"soon"`)
}

// TestTheDocumentedConfigurationIsRead: docs/fx.md names no field that there isn't.
func TestTheDocumentedConfigurationIsRead(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/fx.md")
	require.NoError(t, err)
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

// TestEveryFieldHasItsTags: whoever reads configuration, from wherever, finds a name for each
// field.
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
	asJSON, err := json.Marshal(cfg)
	require.NoError(t, err)
	asYAML, err := yaml.Marshal(cfg)
	require.NoError(t, err)
	for _, out := range []string{log.String(), string(asJSON), string(asYAML), fmt.Sprintf("%v %+v %#v %s", cfg, cfg, cfg, cfg.AuthSecret)} {
		require.NotContains(t, out, "hunter2")
		require.Contains(t, out, "redacted")
	}
}
