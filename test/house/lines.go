package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// countLines prints the lines of each part beside its budget, then tests and comments.
func countLines(out io.Writer, files []*file) (over []string) {
	lines := make([]int, len(parts))
	tests, all, comments, wide := 0, 0, 0, 0
	for _, f := range files {
		n := len(f.lines) - 1
		if f.test() {
			tests += n
		}
		if !f.product() {
			continue
		}
		at := partOf(parts, f.folder())
		if at < 0 {
			over = append(over, f.folder()+": no part of the product (test/house/budget.go)")
			continue
		}
		lines[at] += n
		for _, line := range f.lines {
			text := strings.TrimSpace(line)
			if text != "" {
				all++
			}
			if strings.HasPrefix(text, "//") {
				comments++
				if width(line) > 100 {
					wide++
				}
			}
		}
	}
	fmt.Fprintf(out, "%-36s %7s %7s\n", "lines", "today", "budget")
	over = append(over, compare(out, parts, lines)...)
	today, budget := 0, 0
	for i, p := range parts {
		today, budget = today+lines[i], budget+p.budget
	}
	fmt.Fprintf(out, "%-36s %7d %7d\n", "product", today, budget)
	fmt.Fprintf(out, "%-36s %7d\n", "tests", tests)
	fmt.Fprintf(out, "%-36s %6.1f%%\n", "comments in the product", 100*float64(comments)/float64(max(all, 1)))
	fmt.Fprintf(out, "%-36s %7d\n", "of them over 100 columns", wide)
	return over
}

// countSums prints the lines of each sum beside its limit.
func countSums(out io.Writer, files []*file, linked []string) []string {
	lines := make([]int, len(sums))
	for _, f := range files {
		at := partOf(sums, f.folder())
		if slices.Contains(linked, f.folder()) {
			at = 0
		}
		if f.product() && at >= 0 {
			lines[at] += len(f.lines) - 1
		}
	}
	fmt.Fprintln(out)
	return compare(out, sums, lines)
}

// compare prints the lines of parts beside their budgets.
func compare(out io.Writer, parts []part, lines []int) (over []string) {
	for i, p := range parts {
		fmt.Fprintf(out, "%-36s %7d %7d\n", p.name, lines[i], p.budget)
		if lines[i] > p.budget {
			over = append(over, fmt.Sprintf("%s: %d lines, of %d", p.name, lines[i], p.budget))
		}
	}
	return over
}

// partOf is the index of the part with the longest prefix of a folder, or −1.
func partOf(parts []part, folder string) int {
	found, longest := -1, 0
	for i, p := range parts {
		for _, f := range p.folders {
			if (folder == f || strings.HasPrefix(folder, f+"/")) && len(f) > longest {
				found, longest = i, len(f)
			}
		}
	}
	return found
}

// width counts a tab as four columns.
func width(line string) int { return utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    ")) }
