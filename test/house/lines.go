package main

import (
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"
)

// helper is a file in which tests share what they need.
var helper = regexp.MustCompile(`(^|_)(world|helper|suite|bubble)_test\.go$`)

func printLines(out io.Writer, files []*file) {
	product, tests, helpers, helperFiles, long := 0, 0, 0, 0, 0
	for _, f := range files {
		n := len(f.lines) - 1
		pack := path.Base(f.folder())
		switch {
		case pack == "recipetest" || pack == "bubble" || helper.MatchString(path.Base(f.name)):
			helpers, helperFiles = helpers+n, helperFiles+1
		case f.test():
			tests += n
		}
		if f.product() {
			product += n
		}
		if f.product() && n > 300 {
			long++
		}
	}
	row(out, "lines of Go without tests, examples, docs", "%d", product)
	row(out, "lines of tests", "%d", tests)
	row(out, "lines and files of test helpers", "%d · %d", helpers, helperFiles)
	row(out, "files of more than 300 lines", "%d", long)
}

func printComments(out io.Writer, files []*file) {
	all, comments, over100, over120 := 0, 0, 0, 0
	for _, f := range files {
		for _, line := range f.lines {
			if strings.TrimSpace(line) == "" {
				continue
			}
			if f.product() {
				all++
			}
			if !strings.HasPrefix(strings.TrimSpace(line), "//") {
				continue
			}
			if f.product() {
				comments++
			}
			if wide := width(line); wide > 100 {
				over100++
				if wide > 120 {
					over120++
				}
			}
		}
	}
	total := 0
	for _, f := range files {
		for _, line := range f.lines {
			if strings.HasPrefix(strings.TrimSpace(line), "//") {
				total++
			}
		}
	}
	row(out, "comment lines over 100 and over 120 columns, with tests", "%.1f %% · %.1f %%", share(over100, total), share(over120, total))
	row(out, "lines that are comments, without tests", "%.1f %%", share(comments, all))
}

// width counts a tab as four columns.
func width(line string) int { return utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    ")) }

func share(part, whole int) float64 { return 100 * float64(part) / float64(max(whole, 1)) }

func row(out io.Writer, what, format string, args ...any) {
	fmt.Fprintf(out, "%-58s %s\n", what, fmt.Sprintf(format, args...))
}
