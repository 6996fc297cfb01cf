package bench_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

var plot = flag.String("queue.plot", "", "file that BenchmarkQueueWaiting draws its figures into, as SVG")

// BenchmarkQueueWaiting puts items one at a time into a queue for which some consumers wait, a
// session each, and counts what one costs until it is acknowledged and all wait again, the put
// itself included. What the servers count while nothing happens is subtracted.
func BenchmarkQueueWaiting(b *testing.B) {
	var points []point
	for _, waiting := range []int{1, 4, 16, 64} {
		b.Run(fmt.Sprint(waiting), func(b *testing.B) {
			const items, pause = 20, 30 * time.Millisecond
			e := ensemble.Start(b, 1)
			path := queuePath(b, "q")
			got := make(chan struct{}, 1)
			for range waiting {
				work(b, newQueue(b, e, path), 1, func(*queue.Item) { got <- struct{}{} })
			}
			q := newQueue(b, e, path)
			next := func() {
				_, err := q.Put(b.Context(), make([]byte, itemSize))
				require.NoError(b, err)
				<-got
				time.Sleep(pause)
			}
			for range 3 { // what is made once
				next()
			}
			var spent cost
			n := 0
			for b.Loop() {
				before, began := count(b, e), time.Now()
				for range items {
					next()
				}
				after, took := count(b, e), time.Since(began)
				time.Sleep(took)
				idle := count(b, e)
				spent.requests += 2*after.requests - before.requests - idle.requests
				spent.events += 2*after.events - before.events - idle.events
				n += items
			}
			p := point{waiting, float64(spent.requests) / float64(n), float64(spent.events) / float64(n)}
			b.ReportMetric(p.requests, "requests/item")
			b.ReportMetric(p.events, "events/item")
			points = append(slices.DeleteFunc(points, func(q point) bool { return q.waiting == waiting }), p)
		})
	}
	if *plot != "" {
		require.NoError(b, os.WriteFile(*plot, []byte(draw(points)), 0o644))
	}
}

// point is what an item costs if so many consumers wait.
type point struct {
	waiting          int
	requests, events float64
}

// draw draws requests and events an item by the number of waiting consumers, which is quadrupled
// from each step to the next.
func draw(points []point) string {
	var out strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	top := 8.0
	for _, p := range points {
		top = max(top, p.requests, p.events)
	}
	x := func(n int) float64 { return 60 + float64(n)*100 }
	y := func(v float64) float64 { return 180 - 150*v/top }
	line(`<svg xmlns="http://www.w3.org/2000/svg" width="480" height="230" font-family="sans-serif" font-size="12">`)
	line(`<rect width="480" height="230" fill="white"/>`)
	line(`<path d="M40 20V180H440" fill="none" stroke="black"/>`)
	line(`<text x="440" y="215" text-anchor="end">waiting consumers</text>`)
	for _, v := range []float64{0, top / 2, top} {
		line(`<text x="34" y="%.0f" text-anchor="end">%.0f</text>`, y(v)+4, v)
	}
	for n, p := range points {
		line(`<text x="%.0f" y="197" text-anchor="middle">%d</text>`, x(n), p.waiting)
	}
	for _, series := range []struct {
		name, color string
		of          func(point) float64
	}{
		{"requests for one item", "#1f6feb", func(p point) float64 { return p.requests }},
		{"watch events", "#d9480f", func(p point) float64 { return p.events }},
	} {
		var at []string
		for n, p := range points {
			v := series.of(p)
			at = append(at, fmt.Sprintf("%.0f,%.0f", x(n), y(v)))
			line(`<text x="%.0f" y="%.0f" text-anchor="middle" fill="%s">%.1f</text>`, x(n), y(v)-6, series.color, v)
		}
		line(`<polyline points="%s" fill="none" stroke="%s"/>`, strings.Join(at, " "), series.color)
		if len(points) > 0 {
			line(`<text x="60" y="%.0f" fill="%s">%s</text>`, y(series.of(points[0]))+16, series.color, series.name)
		}
	}
	line(`</svg>`)
	return out.String()
}
