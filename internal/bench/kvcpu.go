package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// notePids writes the ids of the processes of a measurement to a file for the first worker.
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

// processes reads the file that notePids wrote.
func (p *kvPlan) processes() (pids []int, err error) {
	text, err := os.ReadFile(filepath.Join(p.Dir, "pids"))
	if err != nil {
		return nil, err
	}
	return pids, json.Unmarshal(text, &pids)
}

// eachThread sums the results of read over all threads of processes; read parses a file of the
// thread in /proc.
func eachThread(pids []int, file string, read func(text string) (float64, error)) (sum float64,
	err error) {
	for _, pid := range pids {
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/%s", pid, file))
		if err != nil {
			return 0, err
		}
		for _, path := range tasks {
			text, err := os.ReadFile(path)
			if err != nil {
				continue // the thread has ended
			}
			n, err := read(string(text))
			if err != nil {
				return 0, fmt.Errorf("bench: %s says %q, want numbers: %w", path, text, err)
			}
			sum += n
		}
	}
	return sum, nil
}

// processorTime returns the processor seconds that processes have used so far.
func processorTime(pids []int) (seconds float64, err error) {
	ns, err := eachThread(pids, "schedstat", func(text string) (float64, error) {
		running, _, _ := strings.Cut(text, " ")
		return strconv.ParseFloat(running, 64)
	})
	return ns / 1e9, err
}

// usedBy returns the figures of processes so far.
func usedBy(pids []int) (f kvFigures, err error) {
	if f.CPU, err = processorTime(pids); err == nil {
		f.Switches, err = contextSwitches(pids)
	}
	return f, err
}

// contextSwitches returns the number of context switches of the threads of processes so far,
// voluntary or not.
func contextSwitches(pids []int) (switches float64, err error) {
	return eachThread(pids, "status", func(text string) (sum float64, err error) {
		for line := range strings.Lines(text) {
			name, value, _ := strings.Cut(line, ":")
			if !strings.HasSuffix(name, "voluntary_ctxt_switches") {
				continue
			}
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				return 0, err
			}
			sum += n
		}
		return sum, nil
	})
}
