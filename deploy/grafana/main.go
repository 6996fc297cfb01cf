// Command grafana writes the dashboards of deploy/grafana: go run ./deploy/grafana, in the root of
// the repository. So every panel looks alike, and a change is one line. They were never rendered by
// those who wrote them.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
)

func main() {
	for name, text := range dashboards() {
		if err := os.WriteFile(filepath.Join("deploy", "grafana", name), text, 0o644); err != nil { //nolint:gosec // it is public
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// row is a headline, with the panels below it.
type row struct {
	title  string
	panels []panel
}

// panel is a graph. Its unit is one of Grafana's.
type panel struct {
	title, about, unit string
	queries            []query
}

// query is an expression of PromQL, and what each of its series is called.
type query struct{ expr, legend string }

// one is a panel with one query.
func one(title, unit, expr, legend, about string) panel {
	return panel{title, about, unit, []query{{expr, legend}}}
}

// dashboards are the files, by their names.
func dashboards() map[string][]byte {
	return map[string][]byte{
		"processes.json": dashboard("troupe-processes", "Troupe: processes", "troupe_session_connected", processes),
		"queues.json":    dashboard("troupe-queues", "Troupe: queues", "messaging_client_consumed_messages_total", queues),
	}
}

// object is an object of JSON.
type object map[string]any

// dashboard is the JSON of one. Its variable job has the jobs that report a metric.
func dashboard(id, title, metric string, rows []row) []byte {
	source := object{"type": "prometheus", "uid": "${datasource}"}
	var panels []object
	add := func(kind, title string, x, y, w, h int, more object) {
		panel := object{"id": len(panels) + 1, "type": kind, "title": title, "gridPos": object{"x": x, "y": y, "w": w, "h": h}}
		maps.Copy(panel, more)
		panels = append(panels, panel)
	}
	const columns, height = 3, 8
	y := 0
	for _, r := range rows {
		add("row", r.title, 0, y, 24, 1, object{"collapsed": false, "panels": []object{}})
		y++
		for i, p := range r.panels {
			var targets []object
			for n, q := range p.queries {
				targets = append(targets, object{"refId": string(rune('A' + n)), "datasource": source, "expr": q.expr, "legendFormat": q.legend})
			}
			add("timeseries", p.title, i%columns*24/columns, y+i/columns*height, 24/columns, height, object{
				"description": p.about, "datasource": source, "targets": targets,
				"fieldConfig": object{"defaults": object{"unit": p.unit, "min": 0}, "overrides": []object{}},
				"options":     object{"legend": object{"displayMode": "list", "placement": "bottom"}, "tooltip": object{"mode": "multi", "sort": "desc"}},
			})
		}
		y += (len(r.panels) + columns - 1) / columns * height
	}
	variables := []object{
		{"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
		{
			"name": "job", "label": "Job", "type": "query", "datasource": source, "query": "label_values(" + metric + ", job)", "refresh": 2,
			"multi": true, "includeAll": true, "allValue": ".*", "current": object{"text": "All", "value": "$__all"},
		},
	}
	var text bytes.Buffer
	to := json.NewEncoder(&text)
	to.SetEscapeHTML(false)
	to.SetIndent("", "  ")
	err := to.Encode(object{
		"uid": id, "title": title, "tags": []string{"troupe"}, "schemaVersion": 39, "editable": true, "refresh": "30s",
		"time": object{"from": "now-1h", "to": "now"}, "templating": object{"list": variables}, "panels": panels,
	})
	if err != nil {
		panic(err) // strings and numbers can be encoded
	}
	return text.Bytes()
}
