package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	"golang.org/x/mod/zip"
)

// release packs the tracked files of the module in root as a version, below dist in the layout of
// GOPROXY.
func release(root, dist, version string) error {
	path, err := modulePath(root)
	if err != nil {
		return err
	}
	if semver.Canonical(version) != version {
		return fmt.Errorf("version %q, want one such as v0.2.0", version)
	}
	escaped, err := module.EscapePath(path)
	if err != nil {
		return fmt.Errorf("%w: make rename MODULE=host/path gives the module a path that can be "+
			"fetched", err)
	}
	dir := filepath.Join(dist, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	base := filepath.Join(dir, version)
	f, err := os.Create(base + ".zip")
	if err != nil {
		return err
	}
	defer f.Close()
	if err := zip.CreateFromVCS(f, module.Version{Path: path, Version: version}, root, "HEAD",
		""); err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	if err := f.Close(); err != nil {
		return err
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(base+".mod", mod, 0o644); err != nil {
		return err
	}
	info, err := json.Marshal(map[string]any{"Version": version,
		"Time": time.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return err
	}
	if err := os.WriteFile(base+".info", info, 0o644); err != nil {
		return err
	}
	return addToList(filepath.Join(dir, "list"), version)
}

// addToList puts a version on the list of versions.
func addToList(path, version string) error {
	old, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	versions := append(strings.Fields(string(old)), version)
	semver.Sort(versions)
	return os.WriteFile(path, []byte(strings.Join(slices.Compact(versions), "\n")+"\n"), 0o644)
}
