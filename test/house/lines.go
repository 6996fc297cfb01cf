package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// countLines prints the lines of each part beside its budget and its goal, then tests and comments.
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
		at := partOf(f.folder())
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
	fmt.Fprintf(out, "%-36s %7s %7s %7s\n", "lines", "today", "budget", "goal")
	var sum part
	today := 0
	for i, p := range parts {
		fmt.Fprintf(out, "%-36s %7d %7d %7d\n", p.name, lines[i], p.budget, p.goal)
		if lines[i] > p.budget {
			over = append(over, fmt.Sprintf("%s: %d lines, of %d", p.name, lines[i], p.budget))
		}
		today, sum.budget, sum.goal = today+lines[i], sum.budget+p.budget, sum.goal+p.goal
	}
	fmt.Fprintf(out, "%-36s %7d %7d %7d\n", "product", today, sum.budget, sum.goal)
	fmt.Fprintf(out, "%-36s %7d\n", "tests", tests)
	fmt.Fprintf(out, "%-36s %6.1f%%\n", "comments in the product", 100*float64(comments)/float64(max(all, 1)))
	fmt.Fprintf(out, "%-36s %7d\n", "of them over 100 columns", wide)
	return over
}

// partOf is the part that names the longest beginning of a folder; −1: none does.
func partOf(folder string) int {
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
