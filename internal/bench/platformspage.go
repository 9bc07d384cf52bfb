package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Files with the figures, in the folder Config.Docs.
const (
	platformFigures = "platforms.json"
	platformPicture = "platforms.svg"
	platformPage    = "benchmarks.md"
	platformHeading = "## Distributed training beside other platforms"
)

// platformSystems are the columns of the table, with their titles.
var platformSystems = []struct{ name, title string }{
	{ourName, "gomx"}, {"mxnet", "MXNet"}, {"tensorflow", "TensorFlow"}, {"spark", "Spark"},
}

// writePlatformPages updates the figures, the picture and the page with the measured cases.
func writePlatformPages(dir string, results []platformResult) error {
	if len(results) == 0 {
		return errNoFigures
	}
	path := filepath.Join(dir, platformFigures)
	all, err := mergePlatforms(path, results)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(all, "", "\t")
	if err != nil {
		return err
	}
	var picture bytes.Buffer
	if err := drawPlatforms(&picture, all); err != nil {
		return err
	}
	page := filepath.Join(dir, platformPage)
	old, err := os.ReadFile(page)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("bench: %w", err)
	}
	for name, content := range map[string][]byte{path: append(text, '\n'),
		filepath.Join(dir, platformPicture): picture.Bytes(),
		page: replaceSection(old, platformHeading,
			platformSection(all))} {
		if err := os.WriteFile(name, content, 0o644); err != nil {
			return fmt.Errorf("bench: %w", err)
		}
	}
	return nil
}

// mergePlatforms returns the figures of a file, with results in place of older ones, in the order
// of the cases.
func mergePlatforms(path string, results []platformResult) (all []platformResult, err error) {
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("bench: %w", err)
	default:
		if err := json.Unmarshal(text, &all); err != nil {
			return nil, fmt.Errorf("bench: %s: %w", path, err)
		}
	}
	by := map[string]platformResult{}
	for _, r := range append(all, results...) {
		by[r.Name] = r
	}
	all = nil
	for _, pc := range platformCases() {
		if r, ok := by[pc.name]; ok {
			all = append(all, r)
		}
	}
	return all, nil
}

// replaceSection replaces the section with the given heading, up to the next heading of its level
// or the end of the page.
func replaceSection(page []byte, heading, section string) []byte {
	text := string(page)
	at := strings.Index(text, heading+"\n")
	if at < 0 {
		return []byte(strings.TrimRight(text, "\n") + "\n\n" + section)
	}
	rest := text[at+len(heading):]
	end := strings.Index(rest, "\n## ")
	if end < 0 {
		return []byte(text[:at] + section)
	}
	return []byte(text[:at] + section + rest[end:])
}

// title returns the title of a case in the table.
func (pc *platformCase) title() string {
	p := &pc.plan
	name := map[string]string{"logreg": "logistic regression", "softmax": "softmax",
		"snn": "one hidden layer", "mly": "two hidden layers"}[p.Model]
	if p.Batch == 0 {
		return name + ", full batch"
	}
	mode := "sync"
	if p.Async {
		mode = "async"
	}
	return fmt.Sprintf("%s, batch %d, %s", name, p.Batch, mode)
}

// platformSection returns the section of the page.
func platformSection(all []platformResult) string {
	var b strings.Builder
	fmt.Fprintf(&b, `%s

%s by
`+"`gomx bench platforms --peer mxnet=PYTHON,tf=PYTHON,spark=PYTHON --docs docs`"+`, which wrote this
section and the picture. The scheduler, one server and the workers are processes of one machine;
Spark has one process with a thread for each core. Logistic regression has 10,000 samples of 10,000
features. The other workloads have 60,000 samples of 784 features, with hidden layers of 128, or of
128 and 64 units. Every worker holds its share of the samples; a full batch is the whole share. gomx
trains with `+"`module.Fit`"+`, MXNet with a loop over its Module, TensorFlow with a replicated graph. From
the same weights and data, the losses of gomx and MXNet after the same steps must differ by less than
%g, and the losses of TensorFlow by less than %g; otherwise the command fails. No side computes a metric.
The ratio compares gomx with the best peer of the same run; `+"`--match`"+` may measure rows in separate
runs. Memory is resident memory during training, and time is processor time of all processes.

![Samples per second and memory of a worker, in gomx and in others](%s)

### Samples per second, 3 workers

`, platformHeading, platformDates(all), mxnetAgrees, tensorflowAgrees, platformPicture)
	b.WriteString("| workload | gomx | MXNet | TensorFlow | Spark | ratio | wanted " +
		"|\n|---|---|---|---|---|---|---|\n")
	eachPlatform(all, func(pc *platformCase, r *platformResult) {
		if pc.plan.Workers == 3 {
			ratio, wanted := pc.verdict(r)
			fmt.Fprintf(&b, "| %s |%s %s | %s |\n", pc.title(),
				platformColumns(r, func(s *platformSide) float64 { return s.Rate }), ratio, wanted)
		}
	})
	b.WriteString("\n### Scaling, samples per second with 1, 3 and 5 workers\n\n| workload | " +
		"gomx | MXNet |\n|---|---|---|\n")
	b.WriteString(platformScaling(all))
	b.WriteString("\n### Memory, processor time and traffic\n\nMemory of a worker and of the " +
		"server " +
		"in MiB, processor time in µs per sample, and the traffic of a worker of gomx.\n\n")
	b.WriteString("| workload | gomx: worker, server | MXNet | TensorFlow | Spark | µs/sample: " +
		"gomx | MXNet | TensorFlow | Spark | MB/s |\n|---|---|---|---|---|---|---|---|---|---|\n")
	eachPlatform(all, func(pc *platformCase, r *platformResult) {
		if pc.plan.Workers != 3 {
			return
		}
		fmt.Fprintf(&b, "| %s |%s%s %.1f |\n", pc.title(), platformMemory(r),
			platformColumns(r, (*platformSide).perSample), r.Sides[ourName].Network/1e6)
	})
	return b.String()
}

// eachPlatform calls f for every measured case.
func eachPlatform(all []platformResult, f func(pc *platformCase, r *platformResult)) {
	for _, pc := range platformCases() {
		if i := slices.IndexFunc(all, func(
			r platformResult) bool {
			return r.Name == pc.name
		}); i >= 0 {
			f(&pc, &all[i])
		}
	}
}

// platformDates returns the date or the range of dates of the measurements.
func platformDates(all []platformResult) string {
	first, last := all[0].Date, all[0].Date
	for _, r := range all {
		first, last = min(first, r.Date), max(last, r.Date)
	}
	if first == last {
		return "Measured on " + first
	}
	return "Measured from " + first + " to " + last
}

// platformColumns formats a figure of every system as columns.
func platformColumns(r *platformResult, of func(s *platformSide) float64) string {
	text := ""
	for _, sys := range platformSystems {
		if s, ok := r.Sides[sys.name]; ok && of(&s) > 0 { // otherwise the figure is unknown
			text += " " + thousands(of(&s)) + " |"
		} else {
			text += " – |"
		}
	}
	return text
}

// platformMemory formats the memory of a worker and of the server of every system as columns.
func platformMemory(r *platformResult) string {
	const mib = 1 << 20
	text := ""
	for _, sys := range platformSystems {
		s, ok := r.Sides[sys.name]
		switch {
		case !ok:
			text += " – |"
		case s.Server.Memory == 0:
			text += fmt.Sprintf(" %.0f |", s.Worker.Memory/mib)
		default:
			text += fmt.Sprintf(" %.0f, %.0f |", s.Worker.Memory/mib, s.Server.Memory/mib)
		}
	}
	return text
}

// verdict returns the ratio to the best peer and the wanted ratio.
func (pc *platformCase) verdict(r *platformResult) (ratio, wanted string) {
	best, want := 0.0, 0.0
	for name, s := range r.Sides {
		if name != ourName {
			best = max(best, s.Rate)
			want = max(want, pc.want[name])
		}
	}
	ratio, wanted = "–", "–"
	if best > 0 {
		ratio = fmt.Sprintf("%.2f", r.Sides[ourName].Rate/best)
	}
	if want > 0 {
		wanted = fmt.Sprintf("%g", want)
	}
	return ratio, wanted
}

// platformScaling returns a table row for every workload that was measured with several numbers of
// workers.
func platformScaling(all []platformResult) string {
	rates := map[string]map[string][]string{}
	var order []string
	eachPlatform(all, func(pc *platformCase, _ *platformResult) {
		if pc.plan.Workers == 1 {
			order = append(order, pc.title())
			rates[pc.title()] = map[string][]string{}
		}
	})
	for _, workers := range []int{1, 3, 5} {
		eachPlatform(all, func(pc *platformCase, r *platformResult) {
			if row := rates[pc.title()]; row != nil && pc.plan.Workers == workers {
				for name, s := range r.Sides {
					row[name] = append(row[name], thousands(s.Rate))
				}
			}
		})
	}
	text := ""
	for _, title := range order {
		text += fmt.Sprintf("| %s | %s | %s |\n", title, strings.Join(rates[title][ourName], " / "),
			strings.Join(rates[title]["mxnet"], " / "))
	}
	return text
}

// thousands formats a number with at most four significant digits and commas.
func thousands(v float64) string {
	if v < 1000 {
		return fmt.Sprintf("%.3g", v)
	}
	unit := math.Pow(10, math.Floor(math.Log10(v))-3)
	digits := fmt.Sprintf("%.0f", math.Round(v/unit)*unit)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// drawPlatforms draws samples per second and memory of the cases with three workers, and the
// scaling run.
func drawPlatforms(b *bytes.Buffer, all []platformResult) error {
	speed := barPanel{title: "samples per second, 3 workers (logarithmic)", log: true}
	memory := barPanel{title: "memory of a worker, MiB"}
	scaling := barPanel{title: "samples per second with 1, 3 and 5 workers (logarithmic)",
		log: true}
	values := func(r *platformResult, of func(s *platformSide) float64) (list []float64) {
		for _, sys := range platformSystems {
			v := math.NaN()
			if s, ok := r.Sides[sys.name]; ok {
				v = of(&s)
			}
			list = append(list, v)
		}
		return list
	}
	rate := func(s *platformSide) float64 { return s.Rate }
	eachPlatform(all, func(pc *platformCase, r *platformResult) {
		if pc.plan.Workers == 3 {
			speed.groups = append(speed.groups, barGroup{label: pc.title(),
				values: values(r, rate)})
		}
		if pc.plan.Workers == 3 && !pc.plan.Async {
			memory.groups = append(memory.groups, barGroup{label: pc.title(),
				values: values(r, func(s *platformSide) float64 {
					return s.Worker.Memory /
						(1 << 20)
				})})
		}
		if model := pc.plan.Model; model != "snn" && pc.plan.Batch > 0 && !pc.plan.Async &&
			(model != "logreg" || pc.plan.Batch == 100) {
			scaling.groups = append(scaling.groups, barGroup{label: fmt.Sprintf("%s, %d workers",
				model, pc.plan.Workers), values: values(r, rate)})
		}
	})
	slices.SortFunc(scaling.groups, func(a, b barGroup) int {
		return strings.Compare(a.label, b.label)
	})
	names := make([]string, len(platformSystems))
	for i, sys := range platformSystems {
		names[i] = sys.title
	}
	return drawBars(b, "Distributed training on one machine", names, []barPanel{speed, memory,
		scaling})
}
