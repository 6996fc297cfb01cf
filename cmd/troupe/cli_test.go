package main

// docs/cli.md, whose part behind its first page is written from the commands and from what they
// have printed in other tests; and completion.

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

func TestCLIPage(t *testing.T) {
	t.Parallel()
	const name, begin = "../../docs/cli.md", "## Flags of the connection\n"
	is := must(os.ReadFile(name))
	head, _, found := strings.Cut(string(is), begin) // written by hand
	require.True(t, found)
	var common pflag.FlagSet
	new(connection).bind(&common)
	page := page{t: t}
	page.WriteString(head + begin + flags(&common, new(pflag.FlagSet)))
	for _, cmd := range root(&app{}).Commands() {
		describe(&page, cmd, &common)
	}
	if *update {
		require.NoError(t, os.WriteFile(name, []byte(page.String()), 0o644))
		return
	}
	require.Equal(t, page.String(), string(is), "run: go test ./cmd/troupe -run TestCLIPage -update")
}

// page is docs/cli.md while it is written.
type page struct {
	strings.Builder
	t *testing.T
}

// describe writes a command and those below it; flags that all have are left out.
func describe(page *page, cmd *cobra.Command, but *pflag.FlagSet) {
	path := cmd.CommandPath()
	text := cmp.Or(cmd.Long, cmd.Short+".")
	if path == "troupe election run" {
		text = strings.Replace(text, runHelp, "All else is as in [troupe lock run](#troupe-lock-run).", 1)
	}
	fmt.Fprintf(page, "\n%s %s\n\n%s\n", strings.Repeat("#", 1+strings.Count(path, " ")), path, text)
	if cmd.HasSubCommands() {
		for _, sub := range cmd.Commands() {
			describe(page, sub, but)
		}
		return
	}
	page.WriteString("\n```sh\n" + strings.TrimSpace(cmd.UseLine()+"\n"+cmd.Example) + "\n```\n" + flags(cmd.Flags(), but))
	if text := shown(page.t, strings.TrimPrefix(path, "troupe ")); text != "" {
		page.WriteString("\n```console\n" + text + "```\n")
	}
}

// flags are a table of them.
func flags(all, but *pflag.FlagSet) (table string) {
	all.VisitAll(func(f *pflag.Flag) {
		common := but.Lookup(f.Name) // server has other flags of the same names
		if f.Name == "help" || f.Name == "output" || common != nil && common.Usage == f.Usage {
			return
		}
		kind, usage := pflag.UnquoteUsage(f)
		name := strings.TrimSpace("--" + f.Name + " " + kind)
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if !slices.Contains([]string{"", "[]", "false", "0", "0s"}, f.DefValue) {
			usage += " (default " + f.DefValue + ")"
		}
		table += "| `" + name + "` | " + strings.ReplaceAll(usage, "|", `\|`) + " |\n"
	})
	if table != "" {
		table = "\n| flag | |\n|---|---|\n" + table
	}
	return table
}

func TestCompletionKnowsTheCommands(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"completion", "bash"}, {"completion", "zsh"}, {"completion", "fish"}, {"__complete", "config", "w"}} {
		var out strings.Builder
		cmd := root(&app{out: &printer{Writer: &out}, log: &out})
		cmd.SetArgs(args)
		require.NoError(t, cmd.ExecuteContext(t.Context()))
		require.Regexp(t, "__complete|^watch\tFollow a value\n", out.String())
	}
}
