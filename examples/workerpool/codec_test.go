package main

// What is written into znodes and read again, and how files are cut into batches.

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Any file name must come through: a line break, a quote, bytes that are no text.
var awkward = []string{"a.go", "with space", "line\nbreak", `quo"te`, `back\slash`, "not-utf8-\xff\xfe", "ünïcode", " "}

func TestWhatIsWrittenComesBack(t *testing.T) {
	t.Parallel()
	for _, want := range []batch{{Term: 7}, {Term: 1 << 40, Files: []string{"a"}}, {Term: -1, Files: awkward}} {
		got, err := parseBatch(want.String())
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	want := result{Batch: 3, Term: 1 << 35, Worker: "w2.1", Token: 1<<35 + 9, Files: []digest{{Path: "secret", Sum: unreadable}}}
	for i, file := range append([]string{""}, awkward...) {
		next := cursor{Next: i, After: file}
		got, err := parseCursor(next.String())
		require.NoError(t, err)
		require.Equal(t, next, got)
		want.Files = append(want.Files, digest{Path: file, Size: int64(i), Sum: strings.Repeat("ab", 32)})
	}
	got, err := parseResult(want.String())
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestMalformedTextIsRefused(t *testing.T) {
	t.Parallel()
	head := "batch 1 term 2 worker \"w\" token 3\n"
	for name, parse := range map[string]error{
		"empty batch":           second(parseBatch("")),
		"batch without a term":  second(parseBatch("\"a\"\n")),
		"batch, bare file name": second(parseBatch("term 1\na\n")),
		"batch cut off":         second(parseBatch("term 1\n\"a\"\n\"b")),
		"batch, no last break":  second(parseBatch("term 1\n\"a\"")),
		"batch, more behind":    second(parseBatch("term 1 x\n\"a\"\n")),
		"empty cursor":          second(parseCursor("")),
		"cursor, more behind":   second(parseCursor("next 1 after \"a\" and")),
		"cursor cut off":        second(parseCursor("next 1 after \"a")),
		"empty result":          second(parseResult("")),
		"result, head cut off":  second(parseResult("batch 1 term 2 worker \"w\"\n")),
		"result, no size":       second(parseResult(head + "00 \"a\"\n")),
		"result, size no digit": second(parseResult(head + "00 x \"a\"\n")),
		"result, name cut off":  second(parseResult(head + "00 1 \"a\n")),
		"result, no name":       second(parseResult(head + "00 1\n")),
	} {
		require.Error(t, parse, name)
	}
}

func second[T any](_ T, err error) error { return err }

func TestBatchNamesAndNumbers(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 999_999, 1_000_000} {
		got, ok := batchNumber(batchName(n))
		require.True(t, ok, n)
		require.Equal(t, n, got)
	}
	for _, name := range []string{"", "1", "00001", "000001x", "-00001", "+00001", "0000001"} {
		_, ok := batchNumber(name)
		require.False(t, ok, name)
	}
}

func TestCutLosesNothingAndDoublesNothing(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ files, size, batches int }{
		"nothing":      {0, 10, 0},
		"one":          {1, 10, 1},
		"even":         {20, 10, 2},
		"one over":     {21, 10, 3},
		"singles":      {5, 1, 5},
		"by the bytes": {20_000, 1_000_000, 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := make([]string, tc.files)
			for i := range files {
				files[i] = fmt.Sprintf("f%07d", i)
			}
			var got []string
			batches := 0
			for rest := files; len(rest) > 0; batches++ {
				var head []string
				head, rest = cut(rest, tc.size)
				require.NotEmpty(t, head)
				require.LessOrEqual(t, len(head), tc.size)
				got = append(got, head...)
			}
			require.Equal(t, files, append([]string{}, got...))
			require.Equal(t, tc.batches, batches)
		})
	}
}

func TestCutKeepsResultsBelowTheLimitOfAZnode(t *testing.T) {
	t.Parallel()
	files := make([]string, 4000)
	for i := range files {
		files[i] = strings.Repeat("\xff", 200) + fmt.Sprint(i) // each byte is quoted with four
	}
	head, _ := cut(files, 2000)
	r := result{Worker: "w"}
	for _, f := range head {
		r.Files = append(r.Files, digest{Path: f, Size: 1 << 62, Sum: strings.Repeat("0", 64)})
	}
	require.Less(t, len(r.String()), 500_000)
}

func TestSuccessorContinuesBehindTheCursor(t *testing.T) {
	t.Parallel()
	files := []string{"a", "b", "c", "d"}
	for name, tc := range map[string]struct {
		at   cursor
		want []string
	}{
		"nothing handed out": {cursor{}, files},
		"behind a file":      {cursor{1, "b"}, []string{"c", "d"}},
		"file deleted since": {cursor{1, "bb"}, []string{"c", "d"}},
		"behind the last":    {cursor{1, "d"}, []string{}},
		"behind all":         {cursor{1, "z"}, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.want, tc.at.remaining(files))
		})
	}
}
