package measure

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// processorTime returns the processor seconds of a process so far.
func processorTime(pid int) (seconds float64, err error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		return 0, err
	}
	for _, path := range tasks {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		running, _, _ := strings.Cut(string(text), " ")
		ns, err := strconv.ParseFloat(running, 64)
		if err != nil {
			return 0, fmt.Errorf("measure: %s: found %q, want numbers: %w", path, text, err)
		}
		seconds += ns / 1e9
	}
	if len(tasks) == 0 {
		return 0, fmt.Errorf("measure: found no times of process %d in /proc", pid)
	}
	return seconds, nil
}

// peakMemory returns the largest resident memory of a process so far, in bytes, without the pages of
// files: all processes of a machine share those of the program and of its libraries, and their
// number depends on the state of the page cache.
func peakMemory(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	peak, err := statusBytes(pid, text, "VmHWM")
	if err != nil {
		return 0, err
	}
	files, err := statusBytes(pid, text, "RssFile")
	return peak - files, err
}

// statusBytes returns a size of the status of a process.
func statusBytes(pid int, text []byte, name string) (int64, error) {
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			kib, err := strconv.ParseInt(
				strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("measure: found no %s in the status of process %d", name, pid)
}

// pidFile is the file with the process id of a node of a job.
func pidFile(dir, node string) string {
	return filepath.Join(dir, "pid-"+strings.ReplaceAll(node, " ", "-"))
}

// writePID notes the process id of a node.
func writePID(dir, node string, pid int) error {
	name := pidFile(dir, node)
	if err := os.WriteFile(name+".tmp", []byte(strconv.Itoa(pid)), 0o600); err != nil {
		return err
	}
	return os.Rename(name+".tmp", name)
}

// readPID returns the process id of a node.
func readPID(dir, node string) (int, error) {
	text, err := os.ReadFile(pidFile(dir, node))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(text))
}
