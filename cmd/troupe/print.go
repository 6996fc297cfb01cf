package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"

	"github.com/troupe-go/troupe/session"
)

// printer is the standard output. It keeps an error, so that no command has to check each line.
type printer struct {
	io.Writer
	failed error
}

func (p *printer) Write(text []byte) (int, error) {
	n, err := p.Writer.Write(text)
	p.failed = cmp.Or(p.failed, err)
	return n, err
}

// output defines the flag that says how results are printed.
func (a *app) output(flags *pflag.FlagSet) {
	flags.FuncP("output", "o", "print a `format`: table or json", func(text string) error {
		if a.json = text == "json"; !a.json && text != "table" {
			return errors.New(`neither "table" nor "json"`)
		}
		return nil
	})
}

// list prints rows, which are structs: as a table with a column for each field, or as a JSON array.
// JSON names and columns' titles are stable.
func list[T any](a *app, rows []T) error {
	if a.json {
		return asJSON(a.out, append([]T{}, rows...), "  ") // never null
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	titles, _ := cells(*new(T), a.at, "full")
	fmt.Fprintln(w, strings.ToUpper(strings.Join(titles, "\t")))
	for _, row := range rows {
		_, texts := cells(row, a.at, "full")
		fmt.Fprintln(w, strings.Join(texts, "\t"))
	}
	return w.Flush()
}

// show prints one struct: a line for each field, or a JSON object.
func show[T any](a *app, v T) error {
	if a.json {
		return asJSON(a.out, v, "  ")
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	titles, texts := cells(v, moment, "")
	for i, title := range titles {
		fmt.Fprintf(w, "%s\t%s\n", title, texts[i])
	}
	return w.Flush()
}

// follow prints each state that arrives until ctx ends: on a terminal in place of the one before,
// elsewhere a line for each row that came, changed or went. A row is known by its first field. As
// JSON each state is an array on a line of its own.
func follow[S, T any](ctx context.Context, a *app, states <-chan S, rows func(S) []T) error {
	was := map[string]string{}
	for state := range states {
		now, all, at := map[string]string{}, rows(state), stamp(time.Now())
		var keys []string
		for _, row := range all {
			_, texts := cells(row, stamp, "full")
			keys = append(keys, texts[0])
			now[texts[0]] = strings.Join(texts, "  ")
		}
		var err error
		switch {
		case a.json:
			err = asJSON(a.out, append([]T{}, all...), "")
		case a.terminal:
			fmt.Fprint(a.out, "\x1b[H\x1b[2J") // home, and clear
			err = list(a, all)
		default:
			for _, key := range slices.Sorted(maps.Keys(was)) {
				if now[key] == "" {
					fmt.Fprintln(a.out, at, "-", was[key])
				}
			}
			for _, key := range keys {
				if now[key] != was[key] {
					fmt.Fprintln(a.out, at, choose(was[key] == "", "+", "~"), now[key])
				}
			}
		}
		if err = cmp.Or(err, a.out.failed); err != nil {
			return err
		}
		was = now
	}
	if ctx.Err() == nil {
		return failure{statusDown, errors.New("the session has ended")}
	}
	return nil
}

// witnessed sets in rows the time since which each holds, if the watch has seen the beginning of
// that: not for those that held when the watch began. of returns what tells a holder from others,
// "" for a row that does not hold, and where the row's time is. A time that is set stays.
func witnessed[S, T any](rows func(S) []T, of func(*T) (string, *time.Time)) func(S) []T {
	var since map[string]time.Time // nil before the first state
	return func(state S) []T {
		now, all := map[string]time.Time{}, rows(state)
		for i := range all {
			who, held := of(&all[i])
			if who == "" {
				continue
			}
			at, was := since[who]
			if !was && since != nil {
				at = time.Now().UTC()
			}
			*held = cmp.Or(*held, at)
			now[who] = *held
		}
		since = now
		return all
	}
}

// unsafe matches characters that a terminal may obey and JSON need not escape.
var unsafe = regexp.MustCompile(`[^\P{C}\n\x7f\x{10000}-\x{10ffff}]`)

// asJSON prints a value as JSON, on one line without an indent.
func asJSON(out io.Writer, v any, indent string) error {
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetIndent("", indent)
	err := e.Encode(v)
	_, failed := io.WriteString(out, unsafe.ReplaceAllStringFunc(text.String(), func(r string) string { return strings.Trim(strconv.QuoteToASCII(r), `"`) }))
	return cmp.Or(err, failed)
}

// cells are the titles and the texts of a struct's fields, of times by at, but for those with the
// tag without. Data alone are cut.
func cells(row any, at func(time.Time) string, without string) (titles, texts []string) {
	for f, v := range reflect.ValueOf(row).Fields() {
		if tag := f.Tag.Get("table"); tag == "-" || tag != "" && tag == without {
			continue
		}
		title, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		text := cell(v.Interface())
		switch t, is := reflect.TypeAssert[time.Time](v); {
		case f.Name == "Data":
			text = cmp.Or(plain(string(v.Bytes())), "-")
		case is && !t.IsZero():
			text = at(t)
		}
		titles, texts = append(titles, strings.ReplaceAll(title, "_", " ")), append(texts, text)
	}
	return titles, texts
}

func cell(v any) string {
	switch v := v.(type) {
	case time.Time: // a zero time
	case bool:
		if v {
			return "yes"
		}
	case sessionID:
		if v != 0 {
			return v.String()
		}
	case map[string]string:
		return cmp.Or(escaped(strings.TrimSuffix(strings.TrimPrefix(fmt.Sprint(v), "map["), "]")), "-")
	case []string:
		return escaped(strings.Join(v, "; "))
	default:
		return cmp.Or(escaped(fmt.Sprint(v)), "-")
	}
	return "-"
}

// times are how commands print a time, by their names; all others print an age. A row that is
// printed again and again, or later than it was read, has no age.
var times = map[string]func(time.Time) string{"show": moment, "peek": moment, "watch": stamp}

// stamp is a time with its zone, which is this machine's.
func stamp(t time.Time) string { return t.Local().Format(time.RFC3339) }

// moment is a time with its age.
func moment(t time.Time) string {
	text := age(t)
	return stamp(t) + " (" + choose(strings.HasPrefix(text, "in "), text, text+" ago") + ")"
}

// age is the time since t by this machine's clock, such as "4m12s", or "in 4m12s" for a later t.
func age(t time.Time) string {
	d := time.Since(t)
	if d <= -time.Second {
		return "in " + span(-max(d, -math.MaxInt64)) // the difference of centuries is the least Duration
	}
	return span(d)
}

// span is a duration in its two largest units.
func span(d time.Duration) string {
	const minute, hour, day = 60, 60 * 60, 24 * 60 * 60
	switch s := int64(max(d, 0) / time.Second); {
	case s < minute:
		return fmt.Sprintf("%ds", s)
	case s < hour:
		return fmt.Sprintf("%dm%ds", s/minute, s%minute)
	case s < day:
		return fmt.Sprintf("%dh%dm", s/hour, s%hour/minute)
	default:
		return fmt.Sprintf("%dd%dh", s/day, s%day/hour)
	}
}

// owner prints as a text, and as JSON also in its parts.
type owner session.Identity

func (o owner) String() string { return session.Identity(o).String() }

// MarshalJSON implements [json.Marshaler].
func (o owner) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Text    string `json:"text"`
		Program string `json:"program"`
		Name    string `json:"name"`
		Host    string `json:"host"`
		PID     int    `json:"pid"`
	}{o.String(), o.Program, o.Name, o.Host, o.PID})
}

// sessionID prints as in ZooKeeper's logs.
type sessionID int64

func (s sessionID) String() string { return "0x" + strconv.FormatUint(uint64(s), 16) }

// MarshalText implements [encoding.TextMarshaler]: as a number an id would be wrong in a reader
// that has floating-point numbers alone.
func (s sessionID) MarshalText() ([]byte, error) { return []byte(s.String()), nil } //nolint:unparam // the interface has it

// plain is a text for a terminal: unprintable characters are escaped, a long text is cut.
func plain(text string) string {
	if all := []rune(text); len(all) > 80 {
		return escaped(string(all[:80])) + "…"
	}
	return escaped(text)
}

// escaped is plain without the cut.
func escaped(text string) string {
	quoted := strconv.Quote(text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// quoted is a text as one word of a shell.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'"'"'`) + "'" }
