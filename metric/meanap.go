package metric

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	nd "gomx/ndarray"
)

// BoxConfig says how detections are compared with objects. The zero value is that of MXNet's
// example for SSD.
type BoxConfig struct {
	Overlap   float64  // intersection over union from which a box is the object's; 0: 0.5
	Difficult bool     // objects whose sixth number is not 0 count; without it they count nothing
	Classes   []string // names of classes, which then have values of their own; nil: the mean alone
	Name      string   // of the mean; "mAP" by default
}

// MeanAP is the mean over classes of the average precision of detections.
//
// A label has shape (n, objects, 5 or more), with rows (class, left, top, right, bottom,
// difficult); rows of class -1 are no objects. A prediction has shape (n, detections, 6), with rows
// (class, score, left, top, right, bottom) as MultiBoxDetection returns them; rows of negative
// class are no detections. Other pairs than the first are not read.
//
// Source: Everingham et al., The PASCAL Visual Object Classes Challenge, 2010; MApMetric and
// VOC07MApMetric of MXNet's example/ssd.
type MeanAP struct {
	config        BoxConfig
	eleven        bool
	total, window ranking
	read          reader
}

// ranking holds the judged detections of each class.
type ranking map[int]*judged

// judged holds the detections of a class.
type judged struct {
	Scores  []float32
	Right   []bool  // the detection is the first one of an object
	Objects float64 // number of objects in all labels
}

// VOC07 is the mean average precision of the challenge of 2007: the mean of the best precisions at
// the eleven recalls 0, 0.1, …, 1.
func VOC07(c BoxConfig) *MeanAP { return newMeanAP(c, true) }

// AreaAP is the mean average precision as the area below the curve of precision over recall.
func AreaAP(c BoxConfig) *MeanAP { return newMeanAP(c, false) }

func newMeanAP(c BoxConfig, eleven bool) *MeanAP {
	if c.Overlap == 0 {
		c.Overlap = 0.5
	}
	if c.Name == "" {
		c.Name = "mAP"
	}
	return &MeanAP{config: c, eleven: eleven, total: ranking{}, window: ranking{}}
}

// Update adds a batch.
func (m *MeanAP) Update(labels, preds []*nd.Array) error {
	if len(labels) == 0 || len(preds) == 0 {
		return fmt.Errorf("metric %s: %d labels and %d predictions, want one of each",
			m.config.Name, len(labels), len(preds))
	}
	label, err := m.read.label(labels[0])
	if err != nil {
		return fmt.Errorf("metric %s: label: %w", m.config.Name, err)
	}
	pred, err := m.read.pred(preds[0])
	if err != nil {
		return fmt.Errorf("metric %s: prediction: %w", m.config.Name, err)
	}
	l, p := label.shape, pred.shape
	if len(l) != 3 || l[2] < 5 || len(p) != 3 || p[2] != 6 || l[0] != p[0] {
		return fmt.Errorf("metric %s: label of shape %v and prediction of shape %v, want (n, "+
			"objects, 5 or more) and (n, detections, 6)", m.config.Name, l, p)
	}
	for i := range l[0] {
		objects := rows(label.data[i*l[1]*l[2]:(i+1)*l[1]*l[2]], l[2])
		found := rows(pred.data[i*p[1]*6:(i+1)*p[1]*6], 6)
		m.judge(objects, found)
	}
	return nil
}

// rows cuts data into rows of n numbers and leaves out those of a negative class.
func rows(data []float32, n int) (list [][]float32) {
	for r := range slices.Chunk(data, n) {
		if r[0] >= 0 {
			list = append(list, r)
		}
	}
	return list
}

// judge compares the detections of one picture with its objects.
func (m *MeanAP) judge(objects, found [][]float32) {
	for _, r := range []ranking{m.total, m.window} {
		for _, o := range objects {
			if !m.skips(o) {
				r.of(int(o[0])).Objects++
			}
		}
	}
	found = slices.Clone(found)
	slices.SortStableFunc(found, func(a, b []float32) int { return cmp.Compare(b[1], a[1]) })
	taken := make([]bool, len(objects))
	for _, f := range found {
		best, at := 0.0, -1
		for i, o := range objects {
			if o[0] == f[0] {
				if v := overlap(f[2:6], o[1:5]); v > best {
					best, at = v, i
				}
			}
		}
		right := best > m.config.Overlap
		if right && m.skips(objects[at]) {
			continue
		}
		if right {
			right, taken[at] = !taken[at], true
		}
		for _, r := range []ranking{m.total, m.window} {
			j := r.of(int(f[0]))
			j.Scores, j.Right = append(j.Scores, f[1]), append(j.Right, right)
		}
	}
}

// skips reports whether an object counts nothing, because it is difficult.
func (m *MeanAP) skips(object []float32) bool {
	return !m.config.Difficult && len(object) >= 6 && object[5] >= 1
}

// of returns the detections of a class.
func (r ranking) of(class int) *judged {
	if r[class] == nil {
		r[class] = &judged{}
	}
	return r[class]
}

// overlap is the intersection of two boxes over their union; 0 for boxes without an area.
func overlap(a, b []float32) float64 {
	area := func(left, top, right, bottom float32) float64 {
		return math.Max(0, float64(right-left)) * math.Max(0, float64(bottom-top))
	}
	both := area(max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3]))
	union := area(a[0], a[1], a[2], a[3]) + area(b[0], b[1], b[2], b[3]) - both
	if union < 1e-12 {
		return 0
	}
	return both / union
}

// precision is the average precision of a class.
func (j *judged) precision(eleven bool) float64 {
	order := make([]int, len(j.Scores))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(j.Scores[b],
			j.Scores[a])
	})
	recall, precise := make([]float64, len(order)), make([]float64, len(order))
	right := 0.0
	for i, at := range order {
		if j.Right[at] {
			right++
		}
		if j.Objects > 0 {
			recall[i] = right / j.Objects
		}
		precise[i] = right / float64(i+1)
	}
	for i := len(precise) - 2; i >= 0; i-- { // the best precision from here on
		precise[i] = max(precise[i], precise[i+1])
	}
	sum, last := 0.0, 0.0
	if eleven {
		for k := range 11 {
			at, _ := slices.BinarySearch(recall, float64(k)/10)
			if at < len(precise) {
				sum += precise[at] / 11
			}
		}
		return sum
	}
	for i, r := range recall {
		sum += (r - last) * precise[i]
		last = r
	}
	return sum
}

// Value returns the average precisions of the named classes and their mean.
func (m *MeanAP) Value() ([]string, []float64) { return m.value(m.total) }

// Window returns the average precisions since ResetWindow.
func (m *MeanAP) Window() ([]string, []float64) { return m.value(m.window) }

func (m *MeanAP) value(r ranking) (names []string, values []float64) {
	mean := tally{}
	for _, class := range slices.Sorted(maps.Keys(r)) {
		mean.add(r[class].precision(m.eleven), 1)
	}
	for class, name := range m.config.Classes {
		v := math.NaN()
		if j := r[class]; j != nil {
			v = j.precision(m.eleven)
		}
		names, values = append(names, name), append(values, v)
	}
	return append(names, m.config.Name), append(values, mean.mean())
}

// Reset forgets all batches.
func (m *MeanAP) Reset() { m.total, m.window = ranking{}, ranking{} }

// ResetWindow begins a new window.
func (m *MeanAP) ResetWindow() { m.window = ranking{} }

// State implements Stateful.
func (m *MeanAP) State() ([]byte, error) { return json.Marshal([]ranking{m.total, m.window}) }

// SetState implements Stateful.
func (m *MeanAP) SetState(state []byte) error {
	var list []ranking
	if err := json.Unmarshal(state, &list); err != nil {
		return fmt.Errorf("metric %s: state: %w", m.config.Name, err)
	}
	if len(list) != 2 {
		return fmt.Errorf("metric %s: state of %d parts, want 2", m.config.Name, len(list))
	}
	for _, r := range list {
		for class, j := range r {
			if j == nil || len(j.Scores) != len(j.Right) {
				return fmt.Errorf("metric %s: state: class %d has no matching lists", m.config.Name,
					class)
			}
		}
	}
	m.total, m.window = list[0], list[1]
	return nil
}
