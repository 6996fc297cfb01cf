//go:build unix

package main

// That every sweep runs, at small sizes, and is told and drawn; that the charts in docs are those
// of the tables beside them, and what is in a chart.

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/tier"
)

var redraw = flag.Bool("redraw", false, "write theory and charts in docs anew, from the figures in the tables")

const performance = "../../docs/performance.md"

// TestTheChartsAreThoseOfTheTables draws each chart from the figures in its table.
// `go test ./test/growth -run Charts -redraw` writes what theory says, and the charts, anew.
func TestTheChartsAreThoseOfTheTables(t *testing.T) {
	for _, s := range sweeps {
		page := must(os.ReadFile(performance))
		_, block, _ := strings.Cut(string(page), "<!-- make growth: "+s.name+" -->\n")
		block, _, _ = strings.Cut(block, "\n<!-- end of "+s.name+" -->")
		table := block[strings.Index(block, "| "):]
		s.points = points(t, &s, table)
		picture := "../../docs/growth-" + s.name + ".svg"
		if *redraw {
			require.NoError(t, os.WriteFile(performance, []byte(strings.Replace(string(page), table, s.table(), 1)), 0o600))
			require.NoError(t, os.WriteFile(picture, []byte(s.draw()), 0o600))
			continue
		}
		require.Equal(t, s.table(), table)
		require.Equal(t, s.draw(), string(must(os.ReadFile(picture))))
		require.Contains(t, block, "!["+s.title+"](growth-"+s.name+".svg)")
	}
}

// points are those of a table. A dash is no figure.
func points(t *testing.T, s *sweep, table string) (all []rig) {
	for _, row := range strings.Split(strings.TrimSpace(table), "\n")[2:] {
		cells := strings.Split(strings.Trim(row, "| "), " | ")
		figure := func() float64 {
			y := must(parse(strings.Fields(cells[0])[0]))
			cells = cells[1:]
			return y
		}
		r := rig{x: figure()}
		for i, line := range s.theory {
			switch {
			case line == theory{}:
			case cells[0] == "–":
				cells = cells[1:]
			default:
				r.of[i] = figure()
			}
		}
		require.Empty(t, cells, row)
		all = append(all, r)
	}
	return all
}

func TestWhatIsInAChart(t *testing.T) {
	s := sweep{
		x: "things", title: "Things: what each costs", series: two{"one", "other"},
		theory: lines{{4, 0}, linear, level, {3, 0}, level},
		points: []rig{
			{x: 2, of: [5]float64{4, 3, 99, 7, .2}},
			{x: 9, of: [5]float64{4, 9, 777, 7, .3}},
			{x: 30, of: [5]float64{4, 20, 5, 7, .2}},
			{x: 4000, of: [5]float64{4, 50, 6, 7, 30}},
		},
	}
	svg := s.draw()
	texts := func(class string) (all []string) {
		for _, m := range regexp.MustCompile(`<text class="`+class+`"[^>]*>([^<]*)<`).FindAllStringSubmatch(svg, -1) {
			all = append(all, m[1])
		}
		return all
	}
	require.Equal(t, []string{"Things: what each costs"}, texts("title"))
	require.Equal(t, []string{"one", "other", "theory, or its shape through the points"}, texts("legend"), "once for all panels")
	require.Equal(t, []string{"requests", "things", "ms", "things", "KiB of live memory", "things"}, texts("unit"))
	sizes := "1 10 100 1000 10k "
	require.Equal(t, "1 10 "+sizes+"0.1 1 10 100 "+sizes+"1 10 "+strings.TrimSpace(sizes), strings.Join(texts("tick"), " "), "whole decades")
	require.Equal(t, 4*4+2, strings.Count(svg, "<circle "), "the memory of fewer than ten is noise")
	require.Equal(t, "| 9 | 4 (4) | 9 (19.8) | – | 7 (3) | 0.3 (0.2) |", strings.Split(s.table(), "\n")[3])

	s.points = s.points[:2]
	require.NotContains(t, s.draw(), "memory", "nothing is left of it")
	require.NotContains(t, s.draw(), "NaN")
}

func TestAShortRunTellsAndDrawsEverySweep(t *testing.T) {
	tier.Real(t)
	file := filepath.Join(t.TempDir(), "tables.md")
	for _, s := range sweeps {
		s.run(file, 4)
		tables, _ := os.ReadFile(file)
		picture, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "growth-"+s.name+".svg"))
		require.Regexp(t, `<!-- make growth: `+s.name+` -->\n(?s:.*)\n\| [\d.]+ \| [\d.]+ \([\d.]+\) `, string(tables))
		require.Regexp(t, `^<svg [^N]* points="\d[^N]*</svg>\n$`, string(picture), "no NaN")
	}
}
