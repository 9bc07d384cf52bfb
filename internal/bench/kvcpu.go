package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// notePids writes down the processes of a measurement for the first worker.
func (p *kvPlan) notePids(list []*kvProcess) error {
	var pids []int
	for _, k := range list {
		pids = append(pids, k.cmd.Process.Pid)
	}
	text, err := json.Marshal(pids)
	if err != nil {
		return err
	}
	temporary := filepath.Join(p.Dir, "pids.tmp")
	if err := os.WriteFile(temporary, text, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, filepath.Join(p.Dir, "pids"))
}

// processes reads what notePids wrote.
func (p *kvPlan) processes() (pids []int, err error) {
	text, err := os.ReadFile(filepath.Join(p.Dir, "pids"))
	if err != nil {
		return nil, err
	}
	return pids, json.Unmarshal(text, &pids)
}

// processorTime returns the seconds that processes have been running so far.
func processorTime(pids []int) (seconds float64, err error) {
	for _, pid := range pids {
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
		if err != nil {
			return 0, err
		}
		for _, path := range tasks {
			text, err := os.ReadFile(path)
			if err != nil {
				continue // the thread has ended
			}
			ns, _, _ := strings.Cut(string(text), " ")
			n, err := strconv.ParseFloat(ns, 64)
			if err != nil {
				return 0, fmt.Errorf("bench: %s says %q, want nanoseconds first", path, text)
			}
			seconds += n / 1e9
		}
	}
	return seconds, nil
}
