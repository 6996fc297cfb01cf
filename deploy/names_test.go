package deploy_test

// The names of metrics and labels in alerts and dashboards, and the values that they select, are
// those that processes and troupe exporter report, as OpenTelemetry's exporter writes them for
// Prometheus.

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/otlptranslator"
	"github.com/stretchr/testify/require"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.yaml.in/yaml/v3"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/telemetry"
)

func TestMain(m *testing.M) { tier.Main(m) }

// labels are those of each metric, or the values of each label.
type labels map[string][]string

func (l labels) add(of string, all ...string) {
	for _, each := range all {
		if !slices.Contains(l[of], each) {
			l[of] = append(l[of], each)
		}
	}
}

func (l labels) addAll(f *dto.MetricFamily, values labels) {
	for _, m := range f.GetMetric() {
		names := []string{"job", "instance", "cluster", "namespace"} // of the scrape
		for _, label := range m.GetLabel() {
			names = append(names, label.GetName())
			values.add(label.GetName(), label.GetValue())
		}
		if m.GetHistogram() == nil {
			l.add(f.GetName(), names...)
			continue
		}
		l.add(f.GetName()+"_bucket", append(names, "le")...)
		l.add(f.GetName()+"_sum", names...)
		l.add(f.GetName()+"_count", names...)
	}
}

// byProcesses is what package telemetry reports, each instrument with each attribute, and the
// values of real recipes, in each state of a session.
func byProcesses(t *bubble.World, values labels) labels {
	t.Helper()
	registry := prometheus.NewRegistry()
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry), otelprometheus.WithoutScopeInfo(), otelprometheus.WithoutTargetInfo())
	require.NoError(t, err)
	all := labels{}
	gather := func() {
		time.Sleep(time.Second)
		families, err := registry.Gather()
		require.NoError(t, err)
		for _, f := range families {
			all.addAll(f, values)
		}
	}
	s := t.Host("a", telemetry.Option(sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter)), nil, telemetry.WithSessionName("main")))
	e, err := election.New(s.Session, "/leader")
	require.NoError(t, err)
	e.Campaign()
	bubble.Get(t, e.Leader())
	l, err := lock.New(s.Session, "/l")
	require.NoError(t, err)
	_, err = l.Lock(bubble.Minute(t))
	require.NoError(t, err)
	q, err := queue.New(s.Session, "/q", queue.WithCapacity(1))
	require.NoError(t, err)
	_, err = q.PutAll(bubble.Minute(t), [][]byte{nil, nil})
	require.ErrorIs(t, err, queue.ErrFull)
	_, err = q.Put(bubble.Minute(t), nil)
	require.NoError(t, err)
	_, err = q.Take(bubble.Minute(t))
	require.NoError(t, err)
	_, err = s.Set(bubble.Minute(t), "/nothing", nil, -1)
	require.ErrorIs(t, err, session.ErrNoNode)
	recipe.Emit(s.Session, session.Event{Kind: session.EventStalled})
	recipe.Emit(s.Session, session.Event{Kind: session.EventRestarted, Recipe: "made up"})
	recipe.Emit(s.Session, session.Event{Kind: session.EventWithdrawn, Recipe: "made up"})
	gather()
	heal := s.Machine.Partition()
	time.Sleep(time.Minute)
	heal()
	time.Sleep(time.Minute)
	t.Server.Disconnect(s.Status().SessionID) // which suspends it
	time.Sleep(time.Minute)
	require.NoError(t, s.Close(bubble.Minute(t)))
	gather()
	return all
}

// byExporter is what troupe exporter reports, as its test has seen it.
func byExporter(t testing.TB, values labels) labels {
	t.Helper()
	text, err := os.Open("../cmd/troupe/testdata/exporter.txt")
	require.NoError(t, err)
	defer text.Close()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(text)
	require.NoError(t, err)
	all := labels{}
	for _, f := range families {
		all.addAll(f, values)
	}
	return all
}

// TestExporterIsNamedAsByOpenTelemetry: the names of the command line's metrics are those that
// OpenTelemetry's exporters would write for those instruments.
func TestExporterIsNamedAsByOpenTelemetry(t *testing.T) {
	t.Parallel()
	namer := otlptranslator.NewMetricNamer("", otlptranslator.UnderscoreEscapingWithSuffixes)
	var names []string
	for _, m := range []otlptranslator.Metric{
		{Name: "troupe.queue.depth", Unit: "{item}", Type: otlptranslator.MetricTypeGauge},
		{Name: "troupe.queue.oldest.age", Unit: "s", Type: otlptranslator.MetricTypeGauge},
		{Name: "troupe.queue.dead", Unit: "{item}", Type: otlptranslator.MetricTypeGauge},
		{Name: "troupe.contenders", Unit: "{contender}", Type: otlptranslator.MetricTypeGauge},
		{Name: "troupe.exporter.failures", Unit: "{failure}", Type: otlptranslator.MetricTypeMonotonicCounter},
	} {
		name, err := namer.Build(m)
		require.NoError(t, err)
		names = append(names, name)
	}
	require.ElementsMatch(t, names, slices.Collect(maps.Keys(byExporter(t, labels{}))))
}

// rule is one of alerts.yml.
type rule struct {
	Alert, Expr string
	Annotations struct {
		Summary string
		Runbook string `yaml:"runbook_url"`
	}
}

func rules(t testing.TB) (all []rule) {
	t.Helper()
	var file struct{ Groups []struct{ Rules []rule } }
	read(t, "prometheus/alerts.yml", yaml.Unmarshal, &file)
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

// query is an expression, and the text that shows its labels.
type query struct{ where, expr, text string }

// queries are those of all files.
func queries(t testing.TB) (all []query) {
	t.Helper()
	for _, r := range rules(t) {
		all = append(all, query{r.Alert, r.Expr, r.Annotations.Summary})
	}
	var tests struct {
		Tests []struct {
			Name  string
			Input []struct{ Series string } `yaml:"input_series"`
		}
	}
	read(t, "prometheus/alerts_test.yml", yaml.Unmarshal, &tests)
	for _, test := range tests.Tests {
		for _, i := range test.Input {
			all = append(all, query{where: test.Name, expr: i.Series})
		}
	}
	files, err := filepath.Glob("grafana/*.json")
	require.NoError(t, err)
	for _, file := range files {
		var dashboard struct {
			Panels []struct {
				Title   string
				Targets []struct{ Expr, LegendFormat string }
			}
			Templating struct{ List []struct{ Query string } }
		}
		read(t, file, json.Unmarshal, &dashboard)
		for _, p := range dashboard.Panels {
			for _, target := range p.Targets {
				all = append(all, query{file + ": " + p.Title, target.Expr, target.LegendFormat})
			}
		}
		for _, v := range dashboard.Templating.List {
			if strings.Contains(v.Query, "(") {
				all = append(all, query{where: file, expr: v.Query})
			}
		}
	}
	return all
}

func read(t testing.TB, file string, decode func([]byte, any) error, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, decode(text, into))
}

var (
	quoted   = regexp.MustCompile(`"[^"]*"`)
	word     = regexp.MustCompile(`[a-z_]\w*`)
	selector = regexp.MustCompile(`(\w+)\{([^}]*)\}`)
	chosen   = regexp.MustCompile(`\b(troupe_session_state|troupe_recipe|state|messaging_system) ?[=!]~? ?"([^"]*)"`)
	matched  = regexp.MustCompile(`(\w+) ?(=|!)`)
	shown    = regexp.MustCompile(`(?:\{\{|\$labels\.)(\w+)`)
	listed   = regexp.MustCompile(`\b(?:by|on) \(([^)]*)\)`)
)

// What is no name of a metric or label.
var promQL = strings.Fields("sum max group by on and or unless offset round increase rate histogram_quantile last_over_time label_replace label_values m h s __rate_interval job")

func TestNamesInAlertsAndDashboardsAreReported(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		values := labels{}
		known := byProcesses(t, values)
		maps.Copy(known, byExporter(t, values))
		unused := maps.Clone(known)
		for _, q := range queries(t) {
			bare := quoted.ReplaceAllString(strings.ReplaceAll(q.expr, `messaging_destination_name", "$1`, ""), `""`)
			for _, m := range chosen.FindAllStringSubmatch(q.expr, -1) {
				require.Subset(t, values[m[1]], strings.Split(m[2], "|"), "%s: values of %s", q.where, m[1])
			}
			// A metric has the labels that select it.
			for _, m := range selector.FindAllStringSubmatch(bare, -1) {
				for _, label := range matched.FindAllStringSubmatch(m[2], -1) {
					require.Contains(t, known[m[1]], label[1], "%s: label of %s", q.where, m[1])
				}
			}
			bare = selector.ReplaceAllString(bare, "$1")
			var has []string
			for _, w := range word.FindAllString(listed.ReplaceAllString(bare, ""), -1) {
				if !slices.Contains(promQL, w) {
					require.NotEmpty(t, known[w], "%s: nothing reports %s", q.where, w)
					has = append(has, known[w]...)
					delete(unused, w)
				}
			}
			// What it is grouped by, some metric in the expression has, and what is shown is left.
			var left []string
			for _, list := range listed.FindAllStringSubmatch(bare, -1) {
				left = append(left, strings.Split(list[1], ", ")...)
			}
			require.Subset(t, has, left, q.where)
			if left == nil {
				left = has
			}
			for _, label := range shown.FindAllStringSubmatch(q.text, -1) {
				require.Contains(t, left, label[1], q.where)
			}
		}
		for metric := range unused { // sums and counts of histograms that are shown by their buckets
			require.Regexp(t, `_(sum|count|bucket)$`, metric, "no panel shows it")
		}
	})
}

// Each alert has a section that it links, and the page has no others.
func TestEachAlertHasItsSection(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/operations.md")
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(text), "\n## Alerts\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var sections, alerts []string
	for _, m := range regexp.MustCompile(`(?m)^### (\w+)$`).FindAllStringSubmatch(section, -1) {
		sections = append(sections, m[1])
	}
	for _, r := range rules(t) {
		alerts = append(alerts, r.Alert)
		require.Equal(t, "https://github.com/troupe-go/troupe/blob/main/docs/operations.md#"+strings.ToLower(r.Alert), r.Annotations.Runbook)
	}
	require.Len(t, alerts, 13)
	require.Equal(t, alerts, sections)
}
