//go:build unix

package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// checkPrivate returns an error if users other than this one and root may read a file of keys, or
// may replace it in its folder. A container's files of root may be readable by the group of the
// container.
func checkPrivate(path string) error {
	file, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("launch: keys: %w", err)
	}
	dir, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("launch: keys: %w", err)
	}
	for _, f := range []struct {
		path string
		info os.FileInfo
		open os.FileMode // permissions that nobody else may have
	}{{path, file, 0o077}, {filepath.Dir(path), dir, 0o022}} {
		st, ok := f.info.Sys().(*syscall.Stat_t)
		if !ok {
			continue
		}
		if st.Uid != 0 && int(st.Uid) != os.Geteuid() {
			return fmt.Errorf("launch: keys: %s belongs to user %d, want user %d or root", f.path,
				st.Uid, os.Geteuid())
		}
		open := f.open
		if st.Uid == 0 && os.Geteuid() != 0 {
			open &= 0o007
		}
		if f.info.Mode()&os.ModeSticky == 0 && f.info.Mode().Perm()&open != 0 {
			return fmt.Errorf("launch: keys: %s has permissions %#o, want none of %#o: "+
				"other users could read or replace the keys", f.path, f.info.Mode().Perm(), open)
		}
	}
	return nil
}
