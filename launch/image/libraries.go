package image

import (
	"bufio"
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// libraries returns the paths of the shared libraries that programs need, the loader included.
func libraries(programs []string) ([]string, error) {
	found := map[string]bool{}
	for _, program := range programs {
		out, err := exec.Command("ldd", program).CombinedOutput()
		if err != nil {
			if bytes.Contains(out, []byte("not a dynamic executable")) {
				continue
			}
			return nil, fmt.Errorf("image: libraries of %s: %w: %s", program, err, out)
		}
		list, err := parseLdd(out)
		if err != nil {
			return nil, fmt.Errorf("image: libraries of %s: %w", program, err)
		}
		for _, path := range list {
			found[path] = true
		}
	}
	var list []string
	for path := range found {
		list = append(list, path)
	}
	slices.Sort(list)
	return list, nil
}

// parseLdd reads the output of ldd: "name => path (address)", or "path (address)" for the loader.
func parseLdd(out []byte) (list []string, err error) {
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		name, path, arrow := strings.Cut(line, " => ")
		if !arrow {
			path = name
		}
		if strings.HasPrefix(path, "not found") {
			return nil, fmt.Errorf("library %s is not on this machine", name)
		}
		if path, _, _ = strings.Cut(path, " ("); filepath.IsAbs(path) {
			list = append(list, path)
		}
	}
	return list, lines.Err()
}
