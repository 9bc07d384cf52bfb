package main

import (
	"flag"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gomx/internal/golden"
)

var rewrite = flag.Bool("rewrite", false, "write the help texts of testdata/help anew")

// unclear finds usage texts that cannot be read alone: those that begin with a preposition, an
// article or a question word, and those with a clause in place of a noun.
var unclear = regexp.MustCompile(`^(of|in|on|by|as|for|to|the|a|an|what|how|where|when|which|who|only)\b|\b(by|with|of) (what|whoever|that of|those of)\b|\bof (that|those)\b`)

// TestHelpTexts walks the whole command tree: every command has an example, every flag a text that
// can be read alone.
func TestHelpTexts(t *testing.T) {
	for _, cmd := range commands(root(zerolog.Nop())) {
		if cmd.Hidden || cmd.Name() == "help" || cmd.Name() == "completion" ||
			cmd.Parent() != nil && cmd.Parent().Name() == "completion" {
			continue
		}
		if first := cmd.Short[:1]; first != strings.ToUpper(first) ||
			strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: short text %q, want a capital letter and no full stop", cmd.CommandPath(),
				cmd.Short)
		}
		if cmd.HasParent() && cmd.Runnable() && cmd.Example == "" {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name == "help" {
				return
			}
			words := strings.Fields(f.Usage)
			if len(words) < 2 || unclear.MatchString(f.Usage) || strings.HasSuffix(f.Usage, ".") {
				t.Errorf("%s --%s: %q cannot be read alone", cmd.CommandPath(), f.Name, f.Usage)
			} else if r := []rune(words[0]); unicode.IsUpper(r[0]) && !unicode.IsUpper(r[1]) {
				t.Errorf("%s --%s: %q begins with a capital letter", cmd.CommandPath(), f.Name,
					f.Usage)
			}
		})
	}
}

func commands(cmd *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{cmd}
	for _, c := range cmd.Commands() {
		list = append(list, commands(c)...)
	}
	return list
}

// TestHelpIsGolden compares the help of commands with testdata/help; -rewrite writes it anew.
func TestHelpIsGolden(t *testing.T) {
	for _, cmd := range commands(root(zerolog.Nop())) {
		name := strings.TrimPrefix(cmd.CommandPath(), "gomx ")
		if cmd.Hidden || !cmd.HasParent() {
			continue
		}
		got, err := gomx(t, append(strings.Fields(name), "--help")...)
		if err != nil {
			t.Fatal(err)
		}
		file := strings.ReplaceAll(name, " ", "-") + ".txt"
		golden.Compare(t, filepath.Join("testdata", "help", file), got, *rewrite)
	}
}

// Mistakes in the arguments end with 2, files that cannot be read with 1.
func TestExitCodes(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none.params")
	for _, c := range []struct {
		args string
		want int
	}{
		{"inspct x", exitUsage},
		{"inspect", exitUsage},
		{"inspect --colour x", exitUsage},
		{"inspect x -o yaml", exitUsage},
		{"im2rec a b --encoding .gif", exitUsage},
		{"im2rec a b --seed x", exitUsage},
		{"trace resnet", exitUsage},
		{"plan", exitUsage},
		{"plan alexnet9", exitUsage},
		{"plan lenet --check", exitUsage},
		{"plan lenet --workers 0", exitUsage},
		{"plan lenet --store dist_sink", exitUsage},
		{"plan lenet --compression 3bit", exitUsage},
		{"plan lenet --link fast", exitUsage},
		{"plan lenet --memory 3", exitUsage},
		{"plan lenet --shape data=0,1,28,28", exitUsage},
		{"profile", exitUsage},
		{"profile --by layer -- true", exitUsage},
		{"board a b", exitUsage},
		{"board " + missing, exitFailure},
		{"inspect " + missing, exitFailure},
		{"im2rec " + missing + " .", exitFailure},
	} {
		_, err := gomx(t, strings.Fields(c.args)...)
		if err == nil || exitCode(err) != c.want || strings.Contains(err.Error(), "\n") {
			t.Errorf("gomx %s: %v, want one line and exit code %d", c.args, err, c.want)
		}
	}
}
