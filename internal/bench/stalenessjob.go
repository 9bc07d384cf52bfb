package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"time"

	"gomx/launch"
)

// stalenessJob is the result of a job.
type stalenessJob struct {
	rate   float64          // samples per second of all workers
	points []stalenessPoint // mean over the workers
}

// stalenessJobTime is the longest time of a job.
const stalenessJobTime = 5 * time.Minute

// run runs the job with package launch; this program is the scheduler, the server and the workers.
func (p *stalenessPlan) run(ctx context.Context) (*stalenessJob, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	plan, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, stalenessJobTime)
	defer cancel()
	var mu sync.Mutex
	var list []*stalenessRun
	var wrong error
	var said bytes.Buffer
	out := &workerOutput{line: func(text string) {
		text, ok := strings.CutPrefix(text, stalenessReport)
		if !ok {
			return
		}
		r := &stalenessRun{}
		err := json.Unmarshal([]byte(text), r)
		mu.Lock()
		defer mu.Unlock()
		if list = append(list, r); err != nil {
			wrong = fmt.Errorf("line %q of a worker: %w", text, err)
		}
	}}
	l := launch.Local{Program: []string{exe, StalenessCommand, string(plan)}, Workers: p.Workers,
		Servers: 1, Restarts: -1, Stdout: out, Stderr: &said}
	if err := l.Run(ctx); err != nil {
		return nil, fmt.Errorf("%w: %s", err, lastLine(said.String()))
	}
	mu.Lock()
	defer mu.Unlock()
	if wrong != nil {
		return nil, wrong
	}
	return p.join(list)
}

// join joins the reports of the workers.
func (p *stalenessPlan) join(list []*stalenessRun) (*stalenessJob, error) {
	if len(list) != p.Workers {
		return nil, fmt.Errorf("%d workers have finished, want %d", len(list), p.Workers)
	}
	j, end := &stalenessJob{}, math.Inf(1)
	for i, r := range list {
		if len(r.Points) < 2 || !(r.Seconds > 0) {
			return nil, fmt.Errorf("worker %d reports %d losses in %v s, want at least 2", i,
				len(r.Points), r.Seconds)
		}
		j.rate += float64(p.Clocks*p.Batch) / r.Seconds
		end = min(end, r.Points[len(r.Points)-1].At)
	}
	// All workers have their first loss at the beginning, and later ones at times of their own.
	steps := len(list[0].Points) - 1
	for i := range steps + 1 {
		at := end * float64(i) / float64(steps)
		sum := 0.0
		for _, r := range list {
			sum += lossAt(r.Points, at)
		}
		j.points = append(j.points, stalenessPoint{at, sum / float64(len(list))})
	}
	return j, nil
}

// lossAt returns the loss at a time, on a straight line between the points around it.
func lossAt(points []stalenessPoint, at float64) float64 {
	for i := 1; i < len(points); i++ {
		if a, b := points[i-1], points[i]; at < b.At {
			return a.Loss + (b.Loss-a.Loss)*max(0, at-a.At)/(b.At-a.At)
		}
	}
	return points[len(points)-1].Loss
}

// last is the last loss.
func (j *stalenessJob) last() stalenessPoint { return j.points[len(j.points)-1] }

// reaches returns the seconds until the loss is at most that of want, +Inf if it never is.
func (j *stalenessJob) reaches(want float64) float64 {
	for i, p := range j.points {
		if p.Loss > want {
			continue
		}
		if i == 0 {
			return p.At
		}
		before := j.points[i-1]
		return p.At - (p.At-before.At)*(want-p.Loss)/(before.Loss-p.Loss)
	}
	return math.Inf(1)
}
