package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gomx/internal/manual"
)

// TestCommandsOfTheManual demands that the commands of gomx in README.md, in the pages of docs, and
// in the examples and topics of the help exist, with their flags.
func TestCommandsOfTheManual(t *testing.T) {
	pages, err := manual.Pages("../..")
	if err != nil {
		t.Fatal(err)
	}
	tree := root(zerolog.Nop())
	tree.InitDefaultHelpCmd()
	tree.InitDefaultCompletionCmd()
	for _, c := range commands(tree) {
		p, err := manual.Parse("gomx help "+c.Name(), "```sh\n"+c.Example+"\n"+c.Long+"\n```\n")
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, p)
	}
	checked := 0
	for _, p := range pages {
		for _, c := range p.Commands("gomx", "./gomx", "go") {
			words := c.Words
			if words[0] == "go" {
				i := slices.Index(words, "./cmd/gomx")
				if i < 0 || words[1] != "run" {
					continue
				}
				words = words[i:]
			}
			checked++
			if fault := wrongCommand(tree, words[1:]); fault != "" {
				t.Errorf("%s:%d: %s: %s", p.Path, c.Line, strings.Join(words, " "), fault)
			}
		}
	}
	if checked < 100 {
		t.Errorf("%d commands found, want more: have the pages another form?", checked)
	}
	for _, wrong := range []string{"lunch", "launch -n 3 --server 2", "zoo lst", "plan -Z"} {
		if wrongCommand(tree, strings.Fields(wrong)) == "" {
			t.Errorf("gomx %s: no fault", wrong)
		}
	}
}

// wrongCommand describes the fault in the arguments of gomx; "" means none.
func wrongCommand(cmd *cobra.Command, args []string) string {
	for len(args) > 0 && cmd.HasSubCommands() && !strings.HasPrefix(args[0], "-") {
		i := slices.IndexFunc(cmd.Commands(), func(c *cobra.Command) bool {
			return c.Name() == args[0] || c.HasAlias(args[0])
		})
		if i < 0 {
			if args[0] == strings.ToUpper(args[0]) {
				return "" // a placeholder
			}
			return "there is no command " + args[0]
		}
		cmd, args = cmd.Commands()[i], args[1:]
	}
	for _, a := range args {
		if a == "--" {
			break
		}
		name := strings.TrimLeft(strings.Trim(a, "[]"), "-")
		name, _, _ = strings.Cut(name, "=")
		var f *pflag.Flag
		switch a = strings.Trim(a, "[]"); {
		case strings.HasPrefix(a, "--"):
			f = cmd.Flags().Lookup(name)
		case strings.HasPrefix(a, "-") && len(name) == 1:
			f = cmd.Flags().ShorthandLookup(name)
		default:
			continue
		}
		if f == nil && name != "help" && name != "h" {
			return cmd.CommandPath() + " has no flag " + a
		}
	}
	return ""
}
