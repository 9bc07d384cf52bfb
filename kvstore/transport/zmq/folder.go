package zmq

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// folderPrefix begins the names of folders for local sockets; the number of their process follows.
const folderPrefix = "gomx-ipc-"

// socketFolder makes a folder that only this user can enter, and removes the folders of processes
// that died.
func socketFolder() (string, error) {
	sweep(os.TempDir())
	return os.MkdirTemp("", fmt.Sprintf("%s%d-", folderPrefix, os.Getpid()))
}

// sweep removes the folders of processes that are no more. Folders of others are left alone:
// removing them fails.
func sweep(dir string) {
	list, err := filepath.Glob(filepath.Join(dir, folderPrefix+"*"))
	if err != nil {
		return
	}
	for _, path := range list {
		number, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(path), folderPrefix), "-")
		pid, err := strconv.Atoi(number)
		if err == nil && pid > 0 && gone(pid) {
			os.RemoveAll(path)
		}
	}
}

// gone reports whether it is certain that a process is no more.
func gone(pid int) bool {
	p, err := os.FindProcess(pid)
	return err == nil && errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}
