//go:build unix

package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// figures returns figure i at all points, and the values of its theory there; not a number where
// the figure is noise. Parameters that the theory does not know are fitted: b to the second and the
// last point, a to the one in the middle. Points that are noise are left out, and so is the first
// one, where the work has nothing beside it.
func (s *sweep) figures(i int) (ys, ts list) {
	if i >= len(s.theory) || s.theory[i] == (theory{}) {
		return nil, nil
	}
	noise := func(k int) bool { return i%3 == memory && s.points[k].x < enough }
	for _, r := range s.points {
		ys = append(ys, max(r.of[i], .01)) // memory may shrink
	}
	a, b, first, last := s.theory[i][0], s.theory[i][1], 1, len(ys)-1
	for first < last && noise(first) {
		first++
	}
	if math.IsNaN(b) {
		b = (ys[last] - ys[first]) / (s.points[last].x - s.points[first].x)
	}
	if math.IsNaN(a) {
		middle := max((last+1)/2, first)
		a = ys[middle] - b*s.points[middle].x
	}
	for k, r := range s.points {
		ts = append(ts, max(a+b*r.x, .01)) // so may a fitted value
		if noise(k) {
			ys[k], ts[k] = math.NaN(), math.NaN()
		}
	}
	return ys, ts
}

// number formats a number with three significant digits.
func number(y float64) string {
	switch {
	case y >= 999500:
		return fmt.Sprintf("%.3gM", y/1e6)
	case y >= 9995:
		return fmt.Sprintf("%.3gk", y/1000)
	case y >= 999.5:
		return fmt.Sprintf("%.0f", math.Round(y/10)*10)
	}
	return fmt.Sprintf("%.3g", y)
}

// parse is the inverse of number.
func parse(text string) (float64, error) {
	digits := strings.TrimRight(text, "kM")
	y, err := strconv.ParseFloat(digits, 64)
	return y * map[string]float64{"": 1, "k": 1e3, "M": 1e6}[text[len(digits):]], err
}

// rounded is a figure as the table has it, so that a chart can be drawn again from its table.
func rounded(y float64) float64 { return must(parse(number(y))) }

// table returns a table with a line for each size, with the theory in parentheses, and a dash where
// a figure is noise.
func (s *sweep) table() string {
	rows := []string{"| " + s.x + " |", "|---|"}
	for _, r := range s.points {
		rows = append(rows, "| "+number(r.x)+" |")
	}
	for i := range s.theory {
		if ys, ts := s.figures(i); ys != nil {
			rows[0], rows[1] = rows[0]+" "+panels[i%3]+", "+s.series[i/3]+" |", rows[1]+"---|"
			for k := range ys {
				cell := number(ys[k]) + " (" + number(ts[k]) + ")"
				if math.IsNaN(ys[k]) {
					cell = "–"
				}
				rows[k+2] += " " + cell + " |"
			}
		}
	}
	return strings.Join(rows, "\n") + "\n"
}

// Pixels: of a panel, and of the plot in it.
const wide, left, top, plotWide, plotHigh = 316.0, 50.0, 84.0, 246.0, 160.0

const ink = "#333333"

var colours = []string{"#1f5fa8", "#b3541e"} // of the series

// text has a class, by which a test finds it.
func text(class string, x, y float64, anchor, what string) string {
	return fmt.Sprintf(`<text class="%s" x="%.1f" y="%.1f" fill="%s" text-anchor="%s">%s</text>`+"\n", class, x, y, ink, anchor, what)
}

// stroke goes through points x, y.
func stroke(colour, dashes string, points ...float64) string {
	at := strings.Trim(fmt.Sprintf("%.1f", points), "[]")
	return fmt.Sprintf(`<polyline fill="none" stroke="%s" stroke-width="1.6" stroke-dasharray="%s" points="%s"/>`+"\n", colour, dashes, at)
}

const dashed = "2 4" // the dashes of a theory

// draw draws the panels side by side, on a white ground, with the title and one legend above them.
func (s *sweep) draw() string {
	var drawn []string
	for p := range panels {
		if ys, _ := s.figures(p); slices.ContainsFunc(ys, known) {
			drawn = append(drawn, s.panel(p, left+float64(len(drawn))*wide))
		}
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f 292" font-family="sans-serif" font-size="12">`+"\n", wide*float64(len(drawn))) +
		"<title>" + s.title + "</title>\n" + `<rect width="100%" height="100%" fill="#ffffff"/>` + "\n" +
		`<g font-size="15">` + text("title", left, 22, "start", s.title) + "</g>\n" + s.legend() + strings.Join(drawn, "") + "</svg>\n"
}

// legend explains the lines of all panels, once.
func (s *sweep) legend() (svg string) {
	x := left
	entry := func(colour, dashes, what string) {
		svg += stroke(colour, dashes, x, 40, x+24, 40) + text("legend", x+30, 44, "start", what)
		x += 60 + 6.5*float64(len(what))
	}
	for k, name := range s.series {
		if name != "" {
			entry(colours[k], "", name)
		}
	}
	entry(ink, dashed, "theory, or its shape through the points")
	return svg
}

func known(y float64) bool { return !math.IsNaN(y) }

// decades returns the exponents of the powers of ten around numbers. The last is larger than the
// first.
func decades(ys ...float64) (first, last float64) {
	ys = slices.DeleteFunc(ys, math.IsNaN)
	const little = 1e-9 // the error of a logarithm
	first = math.Floor(math.Log10(slices.Min(ys)) + little)
	return first, max(math.Ceil(math.Log10(slices.Max(ys))-little), first+1)
}

// panel draws panel p at the abscissa from: logarithmic axes with whole decades and a line at each;
// the figures of both series, with dots; and their theory, dashed.
func (s *sweep) panel(p int, from float64) (svg string) {
	first, firstTheory := s.figures(p)
	second, secondTheory := s.figures(p + len(panels))
	all := []list{first, firstTheory, second, secondTheory}
	low, high := decades(slices.Concat(all...)...)
	least, most := decades(s.points[0].x, s.points[len(s.points)-1].x)
	x := func(v float64) float64 { return from + plotWide*(math.Log10(v)-least)/(most-least) }
	y := func(v float64) float64 { return top + plotHigh*(high-math.Log10(v))/(high-low) }
	for e := low; e <= high; e++ {
		v := math.Pow(10, e)
		svg += stroke("#dddddd", "", from, y(v), from+plotWide, y(v)) + text("tick", from-6, y(v)+4, "end", number(v))
	}
	for e := least; e <= most; e++ {
		v := math.Pow(10, e)
		svg += stroke("#dddddd", "", x(v), top, x(v), top+plotHigh) + text("tick", x(v), top+plotHigh+18, "middle", number(v))
	}
	svg += text("unit", from, top-12, "start", panels[p]) + text("unit", from+plotWide/2, top+plotHigh+36, "middle", s.x)
	for k, ys := range all { // series k/2: its figures, then its theory
		var points list
		for j, v := range ys {
			if !known(v) {
				continue
			}
			points = append(points, x(s.points[j].x), y(v))
			if k%2 == 0 {
				svg += fmt.Sprintf(`<circle cx="%.1f" cy="%.1f" r="2.5" fill="%s"/>`+"\n", x(s.points[j].x), y(v), colours[k/2])
			}
		}
		if points != nil {
			svg += stroke(colours[k/2], []string{"", dashed}[k%2], points...)
		}
	}
	return svg
}
