package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A launcher holds the lock of a file in the folder of its job while it lives; the file describes
// the Holder. Each job also has an entry in the folder Runtime: the job's own folder, or a folder
// whose file names the folder of --dir.

// Holder describes the launcher that holds the lock of a job's folder.
type Holder struct {
	PID     int       `json:"pid"`
	Program []string  `json:"program"` // program and its arguments
	Dir     string    `json:"dir"`     // the job's folder
	Began   time.Time `json:"began"`
}

const (
	lockName    = "lock"
	entryPrefix = "job-"
)

// lockFolder takes the lock of a folder. The lock is held until the file is closed.
func lockFolder(dir string, h Holder) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("launch: lock of the folder: %w", err)
	}
	held, err := flock(f, false)
	if errors.Is(err, errors.ErrUnsupported) {
		err = nil // without locks, two jobs in one folder are not noticed
	}
	if err == nil && held {
		other := readHolder(f)
		err = usageError{fmt.Errorf("launch: folder %s is in use by another launcher, process %d: "+
			"wait for its end, or give this job a folder of its own", dir, other.PID)}
	}
	if err == nil {
		err = writeHolder(f, h)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func writeHolder(f *os.File, h Holder) error {
	b, err := json.Marshal(h)
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt(b, 0)
	}
	if err != nil {
		return fmt.Errorf("launch: lock of the folder: %w", err)
	}
	return nil
}

// readHolder reads the description in a lock file; PID is 0 if it cannot be read.
func readHolder(f *os.File) (h Holder) {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<20))
	if err == nil {
		_ = json.Unmarshal(b, &h) // missing fields stay zero
	}
	return h
}

// probe opens a lock file and reports whether a process holds its lock. If no process does, the
// caller holds it until it closes the file.
func probe(path string, shared bool) (f *os.File, held bool, err error) {
	if f, err = os.OpenFile(path, os.O_RDWR, 0); err != nil {
		return nil, false, err
	}
	if held, err = flock(f, shared); err != nil {
		f.Close()
		return nil, false, err
	}
	return f, held, nil
}

// Runtime makes and returns the folder in which the launchers of this user keep the folders of
// their jobs.
func Runtime() string {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("gomx-%d", os.Getuid()))
	// A failure shows when a folder is made in it.
	_ = os.MkdirAll(dir, 0o700)
	return dir
}

// Jobs lists the running jobs that this user's launchers started on this machine, oldest first.
func Jobs() ([]Holder, error) {
	list, err := filepath.Glob(filepath.Join(Runtime(), entryPrefix+"*", lockName))
	if err != nil {
		return nil, fmt.Errorf("launch: jobs: %w", err)
	}
	var jobs []Holder
	for _, path := range list {
		f, held, err := probe(path, true)
		if err != nil {
			continue // it has ended just now
		}
		if h := readHolder(f); held && h.PID != 0 {
			jobs = append(jobs, h)
		}
		f.Close()
	}
	slices.SortFunc(jobs, func(a, b Holder) int { return a.Began.Compare(b.Began) })
	return jobs, nil
}

// entry makes the job's entry in the folder Runtime, after it has removed the entries of launchers
// that were killed. The lock is held until lock is closed.
func entry(h Holder) (dir string, lock *os.File, err error) {
	root := Runtime()
	free, err := exclusive(root)
	if err != nil {
		return "", nil, err
	}
	defer free()
	sweep(root)
	if dir, err = os.MkdirTemp(root, entryPrefix); err != nil {
		return "", nil, fmt.Errorf("launch: folder for the job: %w", err)
	}
	if h.Dir == "" {
		h.Dir = dir
	}
	if lock, err = lockFolder(dir, h); err != nil {
		os.RemoveAll(dir)
		return "", nil, err
	}
	return dir, lock, nil
}

// exclusive locks the folder Runtime while entries are made and removed, which takes milliseconds.
func exclusive(root string) (free func(), err error) {
	f, err := os.OpenFile(filepath.Join(root, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("launch: folder for the job: %w", err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		held, err := flock(f, false)
		switch {
		case err == nil && !held, errors.Is(err, errors.ErrUnsupported):
			return func() { f.Close() }, nil
		case err == nil && time.Now().After(deadline):
			err = errors.New("another launcher has held the lock for 10 s")
		}
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("launch: lock of %s: %w", root, err)
		}
	}
}

// sweep removes the entries of launchers that have ended.
func sweep(root string) {
	list, err := filepath.Glob(filepath.Join(root, entryPrefix+"*"))
	if err != nil {
		return
	}
	for _, dir := range list {
		f, held, err := probe(filepath.Join(dir, lockName), false)
		switch {
		case errors.Is(err, os.ErrNotExist):
			// The entry is an earlier version's, or its launcher died before it had the lock.
			if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
				os.RemoveAll(dir)
			}
		case err == nil:
			if !held {
				os.RemoveAll(dir)
			}
			f.Close()
		}
	}
}
