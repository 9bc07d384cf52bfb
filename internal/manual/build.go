package manual

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Sources writes the blocks of pages as packages into the folder dir of the tree at root. The name
// of dir begins with a dot, so that the pattern ./... leaves it out. It returns the pages whose package is
// run, and the folders of the packages and of the programs.
func Sources(root, dir string, pages []Page, x *Index) (run []Page, pkgs, programs []string,
	err error) {
	if err := os.RemoveAll(filepath.Join(root, dir)); err != nil {
		return nil, nil, nil, err
	}
	var main bytes.Buffer
	write := func(folder string, text []byte) string {
		if formatted, err := format.Source(text); err == nil {
			text = formatted
		}
		folder = filepath.Join(dir, folder)
		err = errors.Join(err, os.MkdirAll(filepath.Join(root, folder), 0o755),
			os.WriteFile(filepath.Join(root, folder, "main.go"), text, 0o644))
		return "./" + filepath.ToSlash(folder)
	}
	for _, p := range pages {
		code, err := p.Code(x)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("%s: %w", p.Path, err)
		}
		name := packageName(p.Path)
		if code != nil {
			pkgs = append(pkgs, write("pages/"+name, code))
			if p.Run {
				run = append(run, p)
				fmt.Fprintf(&main, "import %s \"%s/%s/pages/%s\"\n", name, x.module, dir, name)
			}
		}
		for i, b := range p.Blocks {
			if b.Lang == "go" && b.isProgram() {
				programs = append(programs, write(fmt.Sprintf("programs/%s%d", name, i),
					fmt.Appendf(nil, "//line %s:%d\n%s", p.Path, b.Line, b.Text)))
			}
		}
	}
	write("run", runner(main.String(), run))
	return run, pkgs, programs, err
}

// packageName is a Go name for a page.
func packageName(path string) string {
	return strings.ToLower(regexp.MustCompile(`\W`).ReplaceAllString(
		strings.TrimSuffix(strings.TrimPrefix(path, "docs/"), ".md"), "_"))
}

// runner is the program that runs the pages, one after the other.
func runner(imports string, run []Page) []byte {
	var b bytes.Buffer
	b.WriteString("package main\n\nimport (\n\"context\"\n\"fmt\"\n\"os\"\n)\n" + imports +
		"func main() {\n")
	for _, p := range run {
		fmt.Fprintf(&b, "run(%q, %s.Page)\n", p.Path, packageName(p.Path))
	}
	b.WriteString(`}

func run(path string, page func(context.Context) error) {
	fmt.Println("\x02" + path)
	if err := page(context.Background()); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", path, err)
		os.Exit(1)
	}
}
`)
	return b.Bytes()
}

// Go runs the go command in dir. The paths in its messages name the pages.
func Go(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	text, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, text)
	}
	return nil
}

// printed divides the output of the runner among the blocks: PATH:LINE -> output.
func printed(out string) map[string]string {
	m := map[string]string{}
	path, at := "", ""
	for _, line := range strings.SplitAfter(out, "\n") {
		if rest, ok := strings.CutPrefix(line, "\x02"); ok {
			path, at = strings.TrimSpace(rest), ""
		} else if rest, ok := strings.CutPrefix(line, "\x01"); ok {
			at = path + ":" + strings.TrimSpace(rest)
			m[at] = ""
		} else {
			m[at] += line
		}
	}
	return m
}

// CompareOutput lists the blocks of the pages that print other text than the pages say.
func CompareOutput(run []Page, out string) (faults []string) {
	got := printed(out)
	for _, p := range run {
		for _, b := range p.Blocks {
			at := p.Path + ":" + strconv.Itoa(b.Line)
			if b.Lang == "go" && b.Prints && !Matches(b.Output, got[at]) {
				faults = append(faults, fmt.Sprintf("%s: the block prints\n%s\nbut the page says\n%s",
					at, got[at], b.Output))
			}
		}
	}
	return faults
}

// Matches compares an output with a text in which "…" stands for any characters, and a line "…"
// for any number of lines. White space at the ends of lines does not count.
func Matches(want, got string) bool {
	trim := func(s string) string {
		lines := strings.Split(strings.TrimSpace(s), "\n")
		for i := range lines {
			lines[i] = strings.TrimRight(lines[i], " \t\r")
		}
		return strings.Join(lines, "\n")
	}
	form := regexp.QuoteMeta(trim(want))
	form = regexp.MustCompile(`^…\n`).ReplaceAllString(form, `(?s:.*?\n)?`)
	form = regexp.MustCompile(`\n…$`).ReplaceAllString(form, `(?s:\n.*)?`)
	form = strings.ReplaceAll(form, "\n…\n", `\n(?s:.*?\n)?`)
	form = strings.ReplaceAll(form, "…", ".*?")
	return regexp.MustCompile(`^` + form + `$`).MatchString(trim(got))
}
