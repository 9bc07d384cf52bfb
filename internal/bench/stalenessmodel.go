package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gomx/kvstore"
	nd "gomx/ndarray"
)

// stalenessModel is the part of a worker in a model that is trained by stochastic gradient descent.
type stalenessModel interface {
	// open makes the tables and adds the initial values.
	open(ctx context.Context, kv *kvstore.KV) error
	// tables lists the tables in the order of the parameters of loss.
	tables() []*stalenessRows
	// learn changes the fetched rows by samples from to from+n.
	learn(from, n int)
	// loss is the mean loss of all samples of the worker.
	loss(params [][]float32) float64
}

// model makes the samples of a worker.
func (p *stalenessPlan) model(rank int) (stalenessModel, error) {
	switch p.Model {
	case "matrix":
		return newMatrixModel(p, rank), nil
	case "logistic":
		return newLogisticModel(p, rank), nil
	}
	return nil, fmt.Errorf("bench: model %q, want matrix or logistic", p.Model)
}

// stalenessRows is a table with the rows that a worker reads and changes in every clock.
type stalenessRows struct {
	*kvstore.Table
	ids       []int
	read, now []float32 // the rows as read, and with the changes of this clock
}

// openRows makes a table of rows that begin with normally distributed numbers; worker 0 adds them.
func openRows(ctx context.Context, kv *kvstore.KV, name string, shape nd.Shape, sigma float64,
	ids []int) (*stalenessRows, error) {
	t, err := kv.Table(ctx, name, shape)
	if err != nil {
		return nil, err
	}
	if kv.Rank() == 0 && sigma > 0 {
		all, start := make([]int, shape[0]), make([]float32, shape[0]*shape[1])
		r := rand.New(rand.NewPCG(1, 0))
		for i := range all {
			all[i] = i
		}
		for i := range start {
			start[i] = float32(sigma * r.NormFloat64())
		}
		err = t.BatchInc(all, start)
	}
	return &stalenessRows{Table: t, ids: ids}, err
}

// fetch reads the rows.
func (t *stalenessRows) fetch(ctx context.Context) (err error) {
	t.read, err = t.BatchGet(ctx, t.ids)
	t.now = slices.Clone(t.read)
	return err
}

// commit adds the changes of this clock to the table.
func (t *stalenessRows) commit() error {
	for i, v := range t.read {
		t.now[i] -= v
	}
	return t.BatchInc(t.ids, t.now)
}

// matrixModel factorizes a square matrix: a sample is the product of a row of left and a row of
// right. Each worker has the samples of its rows of left.
type matrixModel struct {
	plan        *stalenessPlan
	left, right *stalenessRows
	own         []int // rows of left
	samples     []matrixSample
}

// matrixSample is a known element of the matrix.
type matrixSample struct {
	row, column int // row counts within the rows of the worker
	value       float32
}

func newMatrixModel(p *stalenessPlan, rank int) *matrixModel {
	m := &matrixModel{plan: p}
	r, factors := rand.New(rand.NewPCG(2, 0)), make([]float64, 2*p.Rows*p.Columns)
	for i := range factors {
		factors[i] = r.NormFloat64() / math.Pow(float64(p.Columns), 0.25)
	}
	for i := rank; i < p.Rows; i += p.Workers {
		m.own = append(m.own, i)
	}
	r = rand.New(rand.NewPCG(3, uint64(rank)))
	for range p.Samples {
		s := matrixSample{row: r.IntN(len(m.own)), column: r.IntN(p.Rows)}
		sum := 0.1 * r.NormFloat64()
		for k := range p.Columns {
			sum += factors[m.own[s.row]*p.Columns+k] * factors[(p.Rows+s.column)*p.Columns+k]
		}
		s.value = float32(sum)
		m.samples = append(m.samples, s)
	}
	return m
}

func (m *matrixModel) open(ctx context.Context, kv *kvstore.KV) error {
	all := make([]int, m.plan.Rows)
	for i := range all {
		all[i] = i
	}
	shape := nd.Shape{m.plan.Rows, m.plan.Columns}
	var err, err2 error
	m.left, err = openRows(ctx, kv, "left", shape, 0.3, m.own)
	m.right, err2 = openRows(ctx, kv, "right", shape, 0.3, all)
	return errors.Join(err, err2)
}

func (m *matrixModel) tables() []*stalenessRows { return []*stalenessRows{m.left, m.right} }

// miss returns the factors of a sample and the error of their product.
func (m *matrixModel) miss(s *matrixSample, left, right []float32) (p, q []float32, e float32) {
	n := m.plan.Columns
	p, q, e = left[s.row*n:(s.row+1)*n], right[s.column*n:(s.column+1)*n], s.value
	for k, v := range p {
		e -= v * q[k]
	}
	return p, q, e
}

func (m *matrixModel) learn(from, n int) {
	rate := float32(m.plan.Rate)
	for i := range n {
		p, q, e := m.miss(&m.samples[(from+i)%len(m.samples)], m.left.now, m.right.now)
		for k := range p {
			p[k], q[k] = p[k]+rate*e*q[k], q[k]+rate*e*p[k]
		}
	}
}

func (m *matrixModel) loss(params [][]float32) (mean float64) {
	for i := range m.samples {
		_, _, e := m.miss(&m.samples[i], params[0], params[1])
		mean += float64(e*e) / float64(len(m.samples))
	}
	return mean
}

// logisticModel is a logistic regression on dense samples with known weights.
type logisticModel struct {
	plan    *stalenessPlan
	weights *stalenessRows
	x       []float32 // one sample after the other
	y       []float32
}

func newLogisticModel(p *stalenessPlan, rank int) *logisticModel {
	known, r := make([]float32, p.Columns), rand.New(rand.NewPCG(4, 0))
	for i := range known {
		known[i] = float32(4 * r.NormFloat64() / math.Sqrt(float64(p.Columns)))
	}
	m := &logisticModel{plan: p, x: make([]float32, p.Samples*p.Columns),
		y: make([]float32, p.Samples)}
	r = rand.New(rand.NewPCG(5, uint64(rank)))
	for i := range m.x {
		m.x[i] = float32(r.NormFloat64())
	}
	for i := range m.y {
		if r.Float64() < sigmoid(m.score(i, known)) {
			m.y[i] = 1
		}
	}
	return m
}

func sigmoid(v float64) float64 { return 1 / (1 + math.Exp(-v)) }

// logisticRows is the number of rows of the table of weights; the number of weights is a multiple.
const logisticRows = 10

func (m *logisticModel) open(ctx context.Context, kv *kvstore.KV) (err error) {
	ids := make([]int, logisticRows)
	for i := range ids {
		ids[i] = i
	}
	shape := nd.Shape{logisticRows, m.plan.Columns / logisticRows}
	m.weights, err = openRows(ctx, kv, "weights", shape, 0, ids)
	return err
}

func (m *logisticModel) tables() []*stalenessRows { return []*stalenessRows{m.weights} }

// sample returns the numbers of a sample.
func (m *logisticModel) sample(i int) []float32 {
	return m.x[i*m.plan.Columns : (i+1)*m.plan.Columns]
}

func (m *logisticModel) score(i int, weights []float32) float64 {
	var sum float32
	for k, v := range m.sample(i) {
		sum += v * weights[k]
	}
	return float64(sum)
}

func (m *logisticModel) learn(from, n int) {
	mini := m.plan.Mini
	if mini == 0 {
		mini = n
	}
	step := make([]float32, m.plan.Columns)
	for first := 0; first < n; first += mini {
		clear(step)
		for i := first; i < min(first+mini, n); i++ {
			at := (from + i) % len(m.y)
			e := float32(sigmoid(m.score(at, m.weights.now))) - m.y[at]
			for k, v := range m.sample(at) {
				step[k] += e * v
			}
		}
		rate := float32(m.plan.Rate / float64(mini))
		for k, v := range step {
			m.weights.now[k] -= rate * v
		}
	}
}

func (m *logisticModel) loss(params [][]float32) (mean float64) {
	for i, y := range m.y {
		s := m.score(i, params[0])
		if y == 0 {
			s = -s
		}
		mean += math.Log1p(math.Exp(-s)) / float64(len(m.y))
	}
	return mean
}
