package launch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gomx/kvstore"
	"gomx/kvstore/wire"
)

// The folder of --snapshots has one folder for each job that began there: job-1, job-2 and so on. A
// job that resumes another continues in that job's folder, so that its snapshots continue the
// series, and the snapshots of two jobs never mix. To resume a certain job, --snapshots may name
// its folder job-N.

const seriesPrefix = "job-"

// snapshots finds the folder for the job's snapshots, locks it, and chooses the snapshot to
// continue from.
func (j *job) snapshots() error {
	if j.Snapshots == "" {
		if j.Resume {
			return usageError{errors.New("launch: resume: no folder of snapshots, want one")}
		}
		return nil
	}
	root, err := filepath.Abs(j.Snapshots)
	if err == nil {
		err = os.MkdirAll(root, 0o755)
	}
	if err != nil {
		return fmt.Errorf("launch: folder for snapshots: %w", err)
	}
	series, err := listSeries(root)
	if err != nil {
		return err
	}
	if j.Resume && len(series) > 0 {
		j.env.Snapshots = series[len(series)-1]
	} else if j.env.Snapshots, err = newSeries(root, series); err != nil {
		return err
	}
	lock, err := lockFolder(j.env.Snapshots, Holder{PID: os.Getpid(), Program: j.Program,
		Dir: j.env.Dir, Began: time.Now()})
	if err != nil {
		return err
	}
	j.locks = append(j.locks, lock)
	if !j.Resume {
		return nil
	}
	return j.restore(series)
}

// restore chooses the newest complete snapshot of the newest series.
func (j *job) restore(series []string) error {
	dir, skipped, err := kvstore.LatestSnapshot(j.env.Snapshots)
	if err != nil {
		return usageError{fmt.Errorf("launch: --resume: %w", err)}
	}
	for _, err := range skipped {
		j.Log.Warn().Err(err).Msg("a damaged snapshot is passed over")
	}
	if dir == "" {
		return j.anew(series)
	}
	c := kvstore.JobConfig{Node: wire.Node{Role: wire.Server}, Workers: j.Workers,
		Servers: j.Servers, Restore: dir}
	if err := c.CheckRestore(); err != nil {
		return usageError{fmt.Errorf("launch: --resume: %w", err)}
	}
	j.env.Restore = dir
	j.Log.Info().Str("snapshot", dir).Msg("the job continues from a snapshot")
	return nil
}

// anew starts a job from the beginning although it is to resume one, because the newest job has no
// complete snapshot. If an earlier job has one, anew returns an error: the user may mean that job.
func (j *job) anew(series []string) error {
	for _, older := range slices.Backward(series[:max(0, len(series)-1)]) {
		dir, _, err := kvstore.LatestSnapshot(older)
		if dir != "" || err != nil {
			return usageError{fmt.Errorf(
				"launch: --resume: the newest job, %s, has no complete snapshot, an earlier one "+
					"has: "+
					"give --snapshots %s to resume that one, or remove %s", j.env.Snapshots, older,
				j.env.Snapshots)}
		}
	}
	j.Log.Warn().Str("folder", j.env.Snapshots).Msg(
		"there is no complete snapshot to resume from: the job begins anew")
	return nil
}

// listSeries returns the folders of jobs in a folder of snapshots, oldest first. If root itself
// holds snapshots, it comes first.
func listSeries(root string) ([]string, error) {
	list, err := os.ReadDir(root)
	if err != nil {
		return nil, fmt.Errorf("launch: folder for snapshots: %w", err)
	}
	var numbers []int
	flat := false
	for _, e := range list {
		flat = flat || strings.HasPrefix(e.Name(), "snapshot-") && e.IsDir()
		text, ok := strings.CutPrefix(e.Name(), seriesPrefix)
		if n, err := strconv.Atoi(text); ok && err == nil && n > 0 && e.IsDir() {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	var series []string
	if flat {
		series = append(series, root)
	}
	for _, n := range numbers {
		series = append(series, filepath.Join(root, seriesPrefix+strconv.Itoa(n)))
	}
	return series, nil
}

// newSeries makes the folder of a new job. Another launcher may make one at the same time.
func newSeries(root string, series []string) (string, error) {
	last := 0
	if len(series) > 0 {
		// The number is 0 for root itself.
		last, _ = strconv.Atoi(strings.TrimPrefix(filepath.Base(series[len(series)-1]),
			seriesPrefix))
	}
	for n := last + 1; ; n++ {
		dir := filepath.Join(root, seriesPrefix+strconv.Itoa(n))
		err := os.Mkdir(dir, 0o755)
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, os.ErrExist) {
			return "", fmt.Errorf("launch: folder for snapshots: %w", err)
		}
	}
}
