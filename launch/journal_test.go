//go:build cgo && linux

package launch_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// entry is one run in a journal.
type entry struct {
	Version int       `json:"version,omitempty"` // of the format; lines without it are of version 1
	Test    string    `json:"test"`
	Commit  string    `json:"commit"` // of the tree, "+changes" behind it if files differ
	Seed    uint64    `json:"seed"`
	Scale   float64   `json:"scale"` // by which the intervals were divided
	Faults  []string  `json:"faults"`
	Hit     bool      `json:"hit"` // a fault struck while workers were training
	Outcome string    `json:"outcome"`
	Seconds float64   `json:"seconds"`
	Ended   time.Time `json:"ended"`
}

// outcomes of runs.
const (
	identical = "identical" // the result equals the result of one process, bit for bit
	lost      = "lost"      // all copies of a shard died, and the job's error says so
	failed    = "FAILED: "  // and why
)

// journal is a file to which every run adds a line. Runs of one commit add up, whenever they are
// made.
type journal struct {
	path, test, commit string
	done               map[uint64]entry // of this test and commit
}

// journalVersion is the version of the lines that are written.
const journalVersion = 1

// openJournal reads a journal; with an empty path it keeps none.
func openJournal(t *testing.T, path, test string) *journal {
	t.Helper()
	j := &journal{path: path, test: test, done: map[uint64]entry{}}
	if path == "" {
		return j
	}
	j.commit = commit(t)
	b, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	list, err := entries(b)
	if err != nil {
		t.Fatalf("journal %s: %v", path, err)
	}
	for _, e := range list {
		if e.Test == test && e.Commit == j.commit {
			j.done[e.Seed] = e
		}
	}
	return j
}

// entries reads the lines of a journal.
func entries(b []byte) (list []entry, err error) {
	n := 0
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		n++
		var e entry
		if json.Unmarshal(s.Bytes(), &e) != nil {
			continue // an incomplete line is from a run that ended while it wrote
		}
		if e.Version > journalVersion {
			return nil, fmt.Errorf("line %d is of version %d, want at most %d: another release "+
				"wrote it", n, e.Version, journalVersion)
		}
		list = append(list, e)
	}
	return list, nil
}

// TestJournalOfTheFormerRelease reads the journal of three runs that an earlier release has made,
// and a line of a later one.
func TestJournalOfTheFormerRelease(t *testing.T) {
	b, err := os.ReadFile("testdata/release-c91b512.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	list, err := entries(b)
	if err != nil || len(list) != 3 {
		t.Fatalf("%d entries, %v; want 3", len(list), err)
	}
	for i, e := range list {
		if e.Test != "chaos" || !strings.HasPrefix(e.Commit, "c91b512") ||
			e.Seed != uint64(i+1) || e.Outcome != identical || len(e.Faults) == 0 ||
			e.Seconds <= 0 || e.Scale <= 0 || e.Ended.IsZero() {
			t.Errorf("entry %d is read as %+v", i, e)
		}
	}
	later := append(b, `{"version":9,"test":"chaos"}`+"\n"...)
	if _, err := entries(later); err == nil || !strings.Contains(err.Error(), "version 9") {
		t.Errorf("got %v, want an error about version 9", err)
	}
}

// commit names the state of the tree.
func commit(t *testing.T) string {
	t.Helper()
	b, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		t.Fatal("a journal names the commit:", err)
	}
	id := strings.TrimSpace(string(b))
	if b, err = exec.Command("git", "status", "--porcelain",
		"--untracked-files=no").Output(); err != nil || len(b) > 0 {
		id += "+changes"
	}
	return id
}

// next returns the first seed that has not been run.
func (j *journal) next() uint64 {
	for seed := uint64(1); ; seed++ {
		if _, ok := j.done[seed]; !ok {
			return seed
		}
	}
}

// add notes a run, and keeps the output of one that failed beside the journal.
func (j *journal) add(t *testing.T, e entry, output string) {
	t.Helper()
	e.Version, e.Test, e.Commit, e.Ended = journalVersion, j.test, j.commit, time.Now().UTC()
	j.done[e.Seed] = e
	if j.path == "" {
		return
	}
	if err := os.MkdirAll(filepath.Dir(j.path), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(j.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := json.Marshal(e)
	if err == nil {
		_, err = f.Write(append(b, '\n'))
	}
	if err == nil && strings.HasPrefix(e.Outcome, failed) {
		err = os.WriteFile(fmt.Sprintf("%s.%s-%d.log", j.path, e.Test, e.Seed), []byte(output),
			0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// report says how many runs there are of this commit, and how they ended.
func (j *journal) report(t *testing.T) {
	t.Helper()
	counts := map[string]int{}
	hits := 0
	for _, e := range j.done {
		outcome, _, _ := strings.Cut(e.Outcome, ":")
		counts[outcome]++
		if e.Hit {
			hits++
		}
	}
	t.Logf("%d runs, %d hit while training: %v %s", len(j.done), hits, counts, j.commit)
}
