package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gomx/cmd/gomx/fault"
	"gomx/cmd/gomx/topics"

	"github.com/rs/zerolog"
)

// Every topic has a page, which help lists.
func TestTopics(t *testing.T) {
	all, err := gomx(t, "help")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range topics.Commands() {
		if out, err := gomx(t, "help", p.Name()); err != nil || !strings.Contains(out, p.Long[:20]) {
			t.Errorf("gomx help %s: %v, %.100s", p.Name(), err, out)
		}
		if !strings.Contains(all, p.Short) {
			t.Errorf("gomx help does not list %s", p.Name())
		}
	}
}

// Shells complete values and files.
func TestCompletion(t *testing.T) {
	for args, want := range map[string]string{
		"trace |":              "lenet",
		"launch --policy |":    "shrink",
		"inspect |":            "safetensors",
		"profile --by |":       "operator",
		"boa|":                 "board",
		"top --output |":       "json",
		"help envi|":           "environment",
		"launch --snapshots |": ":16",
	} {
		out, err := gomx(t, append([]string{"__complete"}, strings.Split(strings.TrimSuffix(args,
			"|"), " ")...)...)
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%s completes to %q, %v, want %s", args, out, err, want)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if out, err := gomx(t, "completion", shell); err != nil || len(out) < 1000 {
			t.Errorf("completion for %s: %d bytes, %v", shell, len(out), err)
		}
	}
}

// Errors are plain text with a hint, without colours where there is no terminal.
func TestReport(t *testing.T) {
	cmd, _, err := root(zerolog.Nop()).Find([]string{"inspect"})
	if err != nil {
		t.Fatal(err)
	}
	_, missing := os.Stat(filepath.Join(t.TempDir(), "none"))
	for _, c := range []struct {
		err  error
		want string
	}{
		{fault.Hint(errors.New("bad"), "do that"), "gomx: bad\nhint: do that\n"},
		{fault.Usage(errors.New("bad")),
			"gomx: bad\nhint: gomx inspect --help shows arguments, flags and examples\n"},
		{errors.New("bad"), "gomx: bad\n"},
		{missing, "relative names begin at "},
	} {
		var b bytes.Buffer
		fault.Report(&b, c.err, fault.HintOf(cmd, c.err, exitCode(c.err) == exitUsage))
		if got := b.String(); got != c.want && (c.err != missing || !strings.Contains(got, c.want)) {
			t.Errorf("got %q, want %q", got, c.want)
		}
		if strings.Contains(b.String(), "\x1b") {
			t.Errorf("colours in %q", b.String())
		}
	}
}
