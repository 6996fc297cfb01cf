package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/troupe-go/troupe/session"
)

func values(a *app) *cobra.Command {
	set := setter(a, "set PATH VALUE", "Write a value", true)
	return group("config", "Values that processes follow", getter(a, "Print a value"), set, editor(a), watcher(a))
}

// value is a row of config watch, and what get prints as JSON.
type value struct {
	Path    string  `json:"path"`
	Version int32   `json:"version"`
	Value   content `json:"value"`
}

// content prints as a text, escaped but never cut; as JSON it is an object if it is no text.
type content []byte

// MarshalJSON implements [json.Marshaler].
func (c content) MarshalJSON() ([]byte, error) {
	return json.Marshal(choose[any](utf8.Valid(c), string(c), map[string][]byte{"base64": c}))
}

func (c content) String() string { return string(c) }

// printable returns data for a terminal, escaped: newlines, tabs and backslashes stay as they are.
func printable(data []byte) string {
	return strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t").Replace(escaped(string(data)))
}

func getter(a *app, short string) *cobra.Command {
	cmd := a.command("get PATH", short, func(ctx context.Context, s *session.Session, args []string) error {
		data, stat, err := s.Get(ctx, args[0])
		switch file, ok := a.out.Writer.(*os.File); {
		case err != nil:
		case a.json:
			err = asJSON(a.out, value{args[0], stat.Version, data}, "  ")
		case a.terminal, ok && term.IsTerminal(int(file.Fd())):
			_, err = fmt.Fprintln(a.out, strings.TrimSuffix(printable(data), "\n"))
		default:
			_, err = a.out.Write(data)
		}
		return err
	})
	cmd.Long = short + `: the bytes as they are; on a terminal what is not printable is escaped. As JSON, bytes that are no text are {"base64":…}.`
	return cmd
}

func setter(a *app, use, short string, creates bool) *cobra.Command {
	version, create := int32(-1), false
	cmd := a.command(use, short, func(ctx context.Context, s *session.Session, args []string) error {
		data, err := a.data(args[1])
		if err == nil {
			_, err = s.Set(ctx, args[0], data, version)
		}
		switch missing := creates && version < 0 && errors.Is(err, session.ErrNoNode); {
		case missing && create:
			_, err = s.Create(ctx, args[0], data, session.Parents())
		case missing:
			err = isNew(err)
		}
		return err
	})
	cmd.Flags().Int32Var(&version, "version", -1, "write only if there is a znode, with this version; -1 stands for any")
	if creates {
		cmd.Flags().BoolVar(&create, "create", false, "create the znode, with its parents, if it does not exist")
		cmd.MarkFlagsMutuallyExclusive("create", "version")
	}
	cmd.Long = short + `. "-" stands for all of standard input; only "" is an empty value. "$VALUE" is "" where VALUE is not set: write "${VALUE:?}".`
	return cmd
}

// isNew is the error for a path that a command would create only with --create.
func isNew(err error) error { return fmt.Errorf("%w; --create makes it, with its parents", err) }

func editor(a *app) *cobra.Command {
	cmd := a.command("edit PATH", "Edit a value that exists", func(ctx context.Context, s *session.Session, args []string) error {
		old, stat, err := s.Get(ctx, args[0])
		if err != nil {
			return err
		}
		f, err := os.CreateTemp("", "troupe-*") // mode 0600
		if err != nil {
			return err
		}
		_, err = f.Write(old)
		program := cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"), "vi")
		run := exec.CommandContext(context.WithoutCancel(ctx), "sh", "-c", program+` "$1"`, "sh", f.Name())
		run.Stdin, run.Stdout, run.Stderr = a.in, a.out.Writer, a.log
		if err = errors.Join(err, f.Close()); err == nil {
			err = run.Run()
		}
		text, unread := os.ReadFile(f.Name())
		if !bytes.HasSuffix(old, []byte("\n")) {
			text = bytes.TrimSuffix(text, []byte("\n"))
		}
		now, _, unseen := s.Exists(ctx, args[0])
		switch err = errors.Join(err, unread, unseen); {
		case bytes.Equal(text, old):
			fmt.Fprintln(a.log, "not changed")
		case err == nil && now.Mzxid != stat.Mzxid: // the version may be the same, if the znode was created again
			err = session.ErrBadVersion
		case err == nil:
			_, err = s.Set(ctx, args[0], text, stat.Version)
		}
		if err != nil && !bytes.Equal(text, old) {
			return fmt.Errorf("edit %s: %w; the text is kept in %s", args[0], err, f.Name())
		}
		return errors.Join(err, os.Remove(f.Name()))
	})
	cmd.Long = "Edit a value with $VISUAL, $EDITOR or vi, but for a newline that this adds at the end. If it was changed meanwhile, the text is kept."
	return cmd
}

func watcher(a *app) *cobra.Command {
	return a.command("watch PATH", "Follow a value", func(ctx context.Context, s *session.Session, args []string) error {
		_, err := free(a, func(ctx context.Context, s *session.Session, path string) (any, error) {
			_, stat, err := s.Get(ctx, path)
			return stat, err
		})(ctx, s, args[0])
		if err != nil {
			return err
		}
		return follow(ctx, a, s.WatchData(ctx, args[0]), func(d session.Data) (rows []value) {
			if d.Exists {
				rows = append(rows, value{args[0], d.Stat.Version, d.Bytes})
			}
			return rows
		})
	})
}
