package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"gomx/internal/shape/measure"
)

func main() {
	root := flag.String("root", ".", "folder of the module")
	cover := flag.String("cover", "", "coverage `file`: a profile, or the output of go test -cover")
	picture := flag.String("picture", "",
		"SVG `file` to draw the layers of docs/architecture.md to")
	page := flag.String("write", "", "page whose table is replaced")
	flag.Parse()
	if err := run(*root, *cover, *page, *picture); err != nil {
		fmt.Fprintln(os.Stderr, "shape:", err)
		os.Exit(1)
	}
}

func run(root, cover, page, picture string) error {
	if picture != "" {
		text, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
		if err != nil {
			return err
		}
		return os.WriteFile(picture, []byte(draw(layersOf(string(text)))), 0o644)
	}
	pkgs, err := measure.Tree(os.DirFS(root))
	if err != nil {
		return err
	}
	covered, err := coverage(cover)
	if err != nil {
		return err
	}
	text := table(pkgs, covered)
	if page == "" {
		fmt.Print(text)
		return nil
	}
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	changed, err := replace(string(old), text)
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	return os.WriteFile(page, []byte(changed), 0o644)
}

// coverage reads a profile; without one it returns an empty map.
func coverage(name string) (map[string]float64, error) {
	if name == "" {
		return map[string]float64{}, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return measure.Coverage(f)
}
