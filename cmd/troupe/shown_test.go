package main

// The runs of other tests that docs/cli.md shows, from testdata, and its command lines.

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// runs are those that the page shows of each command, with the file in testdata that has them. No
// file: nothing is shown, since the output is another one on each machine, or that of CMD.
var runs = map[string][][2]string{
	"barrier break":     {{"barrier-break", "barrier break /rounds -y"}},
	"barrier lower":     {{"times", "barrier lower /gate"}},
	"barrier raise":     {{"barrier", "barrier raise /gate"}},
	"barrier show":      {{"times", "barrier show /gate"}, {"barrier-inside", "barrier show /rounds"}},
	"config edit":       {{"config", "config edit /no"}},
	"config get":        {{"config", "config get /a/rate"}},
	"config set":        {{"config", "config set /a/rate 5 --create"}, {"config", "config set /a/rate 6 --version 1"}},
	"config watch":      {{"config-watch", "config watch /rate"}, {"config-watch", "config watch /rate -o json"}},
	"doctor":            {{"doctor-down", "doctor"}},
	"election break":    {{"refused", "election break /elections/a"}},
	"election run":      nil,
	"election show":     {{"times", "election show /elections/a"}},
	"election transfer": {{"transfer", "election transfer /e c -y"}},
	"election watch":    {{"election-watch", "election watch /a"}},
	"exporter":          nil, // its answers are in testdata/exporter.txt
	"get":               {{"get", "get /app"}, {"get", "get /app -o json"}},
	"group ls":          {{"group-ls", "group ls /workers"}},
	"group watch":       {{"group-watch", "group watch /workers"}},
	"lock break":        {{"refused", "lock break /locks/a"}, {"lock-break", "lock break /locks/a --yes"}},
	"lock ls":           {{"times", "lock ls /locks/a"}, {"free", "lock ls /no"}},
	"lock revoke":       {{"lock-revoke", "lock revoke /a -y --timeout 20s"}, {"lock-revoke-wait", "lock revoke /a -y --wait"}},
	"lock run":          nil,
	"lock show":         {{"times", "lock show /locks/a"}, {"free", "lock show /no --check"}},
	"lock watch":        {{"lock-watch", "lock watch /a"}},
	"ls":                {{"znode-read", "ls /app"}, {"ls-kinds", "ls --kinds /"}},
	"queue consumers":   {{"queue-why", "queue consumers /jobs"}},
	"queue dead":        {{"queue-ls", "queue dead /jobs"}},
	"queue ls":          {{"times", "queue ls /jobs"}},
	"queue pause":       {{"queue-pause", "queue pause /jobs"}, {"queue-pause", "queue ls /jobs --limit 1"}},
	"queue peek":        {{"times", "queue peek /jobs"}},
	"queue purge":       {{"queue-change", "queue purge /jobs --dry-run"}, {"queue-change", "queue purge /jobs"}},
	"queue put":         {{"queue-change", "queue put /jobs data --id e --priority -1"}, {"queue-change", "queue put /jobs again --id e"}},
	"queue remove":      {{"queue-change", "queue remove /jobs b"}},
	"queue requeue":     {{"queue-change", "queue requeue /jobs d"}, {"queue-change", "queue requeue /jobs no"}},
	"queue resume":      {{"queue-pause", "queue resume /jobs"}},
	"queue show":        {{"queue-why", "queue show /jobs d"}},
	"queue stats":       {{"queue-pause", "queue stats /jobs"}, {"queue-pause", "queue stats /jobs -o json"}},
	"rm":                {{"znode-rm", "-R rm /app/deep --dry-run"}, {"znode-rm", "rm /app/deep --yes"}},
	"server":            nil,
	"set":               {{"znode-data", "set /app new --version 7"}},
	"stat":              {{"times", "stat /gate"}},
	"tree":              {{"znode-read", "tree /app --depth 2"}},
	"tx ls":             {{"tx", "tx ls /pay"}},
	"tx show":           {{"tx", "tx show /pay t-2"}},
	"version":           nil,
}

// shown are the runs of a command.
func shown(t *testing.T, command string) (text string) {
	t.Helper()
	all, known := runs[command]
	require.True(t, known, "%s: what does docs/cli.md show of it?", command)
	for _, run := range all {
		file := must(os.ReadFile(filepath.Join("testdata", run[0]+".txt")))
		parts := strings.Split("\n"+string(file), "\n$ troupe ")
		at := slices.IndexFunc(parts, func(part string) bool { return strings.HasPrefix(part+"\n", run[1]+"\n") })
		require.Positive(t, at, "testdata/%s.txt has no %q", run[0], run[1])
		text += "$ troupe " + strings.TrimSuffix(parts[at], "\n") + "\n"
	}
	return regexp.MustCompile(" +\n").ReplaceAllString(text, "\n") // a table's last cell may be empty
}

// typable matches command lines on a page: to type, of cron and systemd, and between backquotes.
var typable = regexp.MustCompile("(?m)(?:^(?:\\$ |.*/bin/|docker run .* )?|`)troupe ([a-z-][^`\n]*)")

// parses is the error of a command line: of the names of its commands and flags, and of the number
// of its arguments.
func parses(line string) error {
	line = strings.ReplaceAll(line, " [flags]", "")
	line, _, _ = strings.Cut(line, "  #")
	cmd := root(&app{})
	cmd.InitDefaultCompletionCmd()
	found, args, err := cmd.Find(strings.Fields(line))
	if err != nil {
		return err
	}
	found.InitDefaultHelpFlag()
	found.InitDefaultVersionFlag()
	if err := found.ParseFlags(args); err != nil {
		return fmt.Errorf("%s: %w", found.CommandPath(), err)
	}
	return found.ValidateArgs(found.Flags().Args())
}

func TestEachLineOfThePageCanBeTyped(t *testing.T) {
	t.Parallel()
	page := must(os.ReadFile("../../docs/cli.md"))
	lines := typable.FindAllStringSubmatch(string(page), -1)
	require.Greater(t, len(lines), 2*len(runs))
	for _, line := range lines {
		require.NoError(t, parses(line[1]), line[1])
	}
	for _, wrong := range []string{"lock nosuch /a", "nosuch", "lock ls /a --yes", "lock run --try /a", "queue purge", "queue dead /q --older-than soon"} {
		require.Error(t, parses(wrong), wrong)
	}
}
