package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "modtool:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 || args[1] == "" {
		return fmt.Errorf("%d arguments, want rename MODULE or release VERSION", len(args))
	}
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return fmt.Errorf("go env GOMOD: %w", err)
	}
	root := filepath.Dir(strings.TrimSpace(string(out)))
	switch args[0] {
	case "rename":
		return rename(root, args[1])
	case "release":
		return release(root, filepath.Join(root, "dist"), args[1])
	}
	return fmt.Errorf("%q, want rename or release", args[0])
}

// modulePath reads the path of the module in root.
func modulePath(root string) (string, error) {
	path := filepath.Join(root, "go.mod")
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "module "); ok {
			return strings.TrimSpace(name), nil
		}
	}
	return "", fmt.Errorf("%s has no module line", path)
}
