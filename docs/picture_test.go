package docs_test

// The README's picture is drawn from a run: a partition in virtual time.

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

var redraw = flag.Bool("redraw", false, "write docs/partition.svg anew")

// timeout is that of the sessions in the picture.
const timeout = 10 * time.Second

// partition is when things happened, from when the holder's network fell silent.
type partition struct{ done, expired, granted time.Duration }

func runPartition(t *testing.T) (p partition) {
	bubble.Run(t, func(w *bubble.World) {
		standing := func(name string) (*bubble.Host, *lock.Lock) {
			h := w.Host(name, session.WithTimeout(timeout))
			l, err := lock.New(h.Session, "/locks/orders")
			require.NoError(w, err)
			l.Acquire()
			return h, l
		}
		holder, l := standing("orders-1")
		g := bubble.Within(w, time.Second, l.Acquired())
		_, next := standing("orders-2")
		time.Sleep(time.Minute + 300*time.Millisecond) // between two requests of the session
		began := time.Now()
		holder.Machine.Partition()
		bubble.Within(w, time.Minute, g.Done())
		p.done = time.Since(began)
		for _, alive := w.Server.Session(holder.Status().SessionID); alive; _, alive = w.Server.Session(holder.Status().SessionID) {
			time.Sleep(10 * time.Millisecond)
		}
		p.expired = time.Since(began)
		bubble.Within(w, time.Minute, next.Acquired())
		p.granted = time.Since(began)
	})
	return p
}

// TestThePictureOfAPartition compares the picture with a run. `go test ./docs -run Picture -redraw`
// draws it anew.
func TestThePictureOfAPartition(t *testing.T) {
	t.Parallel()
	p := runPartition(t)
	require.Less(t, p.done, p.expired, "the holder knows before ZooKeeper lets anybody else have it")
	require.GreaterOrEqual(t, p.granted, p.expired)
	svg := p.draw()
	if *redraw {
		require.NoError(t, os.WriteFile("partition.svg", []byte(svg), 0o600))
	}
	require.Equal(t, read(t, "partition.svg"), svg)
}

// draw has a lane for each process and one for ZooKeeper; a second is 42 pixels wide.
func (p partition) draw() string {
	const left, second, silent = 120.0, 42.0, 2.0 // the picture begins two seconds before the silence
	x := func(d time.Duration) float64 { return left + second*(silent+d.Seconds()) }
	end := p.granted + 3*time.Second
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f 306" font-family="sans-serif" font-size="13">`+"\n", x(end)+20)
	fmt.Fprintf(&b, `<title>A partition: the holder ends after %.1f s, the next one begins after %.1f s</title>`+"\n", p.done.Seconds(), p.granted.Seconds())
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="#ffffff"/>`+"\n")
	text := func(x, y float64, fill, anchor, s string) {
		fmt.Fprintf(&b, `<text x="%.0f" y="%.0f" fill="%s" text-anchor="%s">%s</text>`+"\n", x, y, fill, anchor, s)
	}
	bar := func(from, to time.Duration, y float64, fill, label, ink string) {
		fmt.Fprintf(&b, `<rect x="%.0f" y="%.0f" width="%.0f" height="28" rx="4" fill="%s"/>`+"\n", x(from), y, x(to)-x(from), fill)
		text((x(from)+x(to))/2, y+19, ink, "middle", label)
	}
	mark := func(at time.Duration, y float64, label string) {
		fmt.Fprintf(&b, `<line x1="%.0f" y1="44" x2="%.0f" y2="200" stroke="#8c8c8c" stroke-dasharray="4 4"/>`+"\n", x(at), x(at))
		text(x(at), y, "#333333", "middle", label)
	}
	const grey, green, red = "#e3e6e8", "#2e7d4f", "#b3261e"
	mark(0, 18, "the network of orders-1 falls silent")
	mark(p.done, 36, fmt.Sprintf("Done closes: %.1f s", p.done.Seconds()))
	mark(p.granted, 36, fmt.Sprintf("the next grant: %.1f s", p.granted.Seconds()))
	for lane, name := range []string{"orders-1", "ZooKeeper", "orders-2"} {
		text(left-12, 73+float64(lane)*50, "#333333", "end", name)
	}
	bar(-silent*time.Second, p.done, 54, green, "holds the lock", "#ffffff")
	bar(p.done, end, 54, grey, "waits", "#333333")
	bar(-silent*time.Second, p.expired, 104, grey, "keeps the session of orders-1 until it has expired", "#333333")
	bar(-silent*time.Second, p.granted, 154, grey, "waits", "#333333")
	bar(p.granted, end, 154, green, "holds", "#ffffff")
	fmt.Fprintf(&b, `<line x1="%.0f" y1="216" x2="%.0f" y2="216" stroke="%s" stroke-width="3"/>`+"\n", x(p.done), x(p.granted), red)
	text((x(p.done)+x(p.granted))/2, 236, red, "middle", fmt.Sprintf("%.1f s in which nobody holds it", (p.granted-p.done).Seconds()))
	const axis = 256
	fmt.Fprintf(&b, `<line x1="%.0f" y1="%d" x2="%.0f" y2="%d" stroke="#333333"/>`+"\n", x(-silent*time.Second), axis, x(end), axis)
	for at := -silent * time.Second; at <= end; at += 2 * time.Second {
		fmt.Fprintf(&b, `<line x1="%.0f" y1="%d" x2="%.0f" y2="%d" stroke="#333333"/>`+"\n", x(at), axis, x(at), axis+5)
		text(x(at), axis+19, "#333333", "middle", fmt.Sprintf("%.0f s", at.Seconds()))
	}
	text((x(0)+x(timeout))/2, axis+40, "#333333", "middle", fmt.Sprintf("the session timeout: %.0f s", timeout.Seconds()))
	fmt.Fprintf(&b, `<path d="M%.0f %d v6 H%.0f v-6" fill="none" stroke="#333333"/>`+"\n", x(0), axis+21, x(timeout))
	b.WriteString("</svg>\n")
	return b.String()
}
