package runs

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// List returns the folders of runs at and below a folder, as slash-separated names relative to it;
// "." is the folder itself. Hidden folders are passed over, and folders that cannot be read.
func List(root string) ([]string, error) {
	var list []string
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && path == root:
			return err
		case err != nil:
			return fs.SkipDir
		case e.IsDir():
			if path != root && strings.HasPrefix(e.Name(), ".") {
				return fs.SkipDir
			}
		case e.Name() == FileName(0):
			rel, err := filepath.Rel(root, filepath.Dir(path))
			if err != nil {
				return err
			}
			list = append(list, filepath.ToSlash(rel))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("runs: %w", err)
	}
	return list, nil
}
