// Matrixfact factorizes a matrix of ratings: a rating is about the product of a row of L, for the
// user, and a row of R, for the item. Both are tables that all workers read and change, row by
// row, by stochastic gradient descent with bounded staleness (Ho et al., 2013): a worker goes on
// while it is at most -staleness clocks ahead of the slowest one, with rows that may lack the last
// changes of the others. The ratings are made up, of known factors with noise; few of them are
// known.
//
//	go build -o matrixfact ./examples/matrixfact
//	gomx launch -n 3 -s 2 -- ./matrixfact -kvstore dist_ssp -staleness 3
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gomx/examples/data"
	"gomx/kvstore"
	"gomx/launch"
	nd "gomx/ndarray"
)

type options struct {
	data.Ratings
	store                             string
	staleness, ratings, batch, epochs int
	lr                                float32
}

func main() {
	o := options{Ratings: data.Ratings{Noise: 0.1, Seed: 1}, lr: 0.05}
	flag.IntVar(&o.Users, "users", 2000, "number of rows of L")
	flag.IntVar(&o.Items, "items", 1000, "number of rows of R")
	flag.IntVar(&o.Rank, "rank", 8, "number of columns of L and R")
	flag.IntVar(&o.ratings, "ratings", 200_000, "number of known ratings, of all workers")
	flag.IntVar(&o.batch, "batch", 500, "number of ratings per clock")
	flag.IntVar(&o.epochs, "epochs", 10, "number of passes over the ratings")
	flag.StringVar(&o.store, "kvstore", "local", "store of the tables, such as dist_ssp")
	flag.IntVar(&o.staleness, "staleness", 3, "clocks that a worker of dist_ssp may be ahead")
	flag.Parse()
	launch.Main(func(ctx context.Context) error { _, err := run(ctx, o); return err })
}

// factors is a table, with the rows that the present step reads and changes.
type factors struct {
	*kvstore.Table
	rank      int
	ids       []int
	read, now []float32 // rows of ids, as read and with the changes of this step
}

// create makes a table. Each worker adds random numbers to its share of the rows.
func create(ctx context.Context, kv *kvstore.KV, name string, shape nd.Shape) (*factors, error) {
	t, err := kv.Table(ctx, name, shape)
	r, row := rand.New(rand.NewPCG(2, uint64(kv.Rank()))), make([]float32, shape[1])
	for i := kv.Rank(); i < shape[0] && err == nil; i += kv.NumWorkers() {
		for k := range row {
			row[k] = float32(0.3 * r.NormFloat64())
		}
		err = t.Inc(i, row)
	}
	return &factors{Table: t, rank: shape[1]}, err
}

// fetch reads the rows of a step; ids may have a row more than once.
func (f *factors) fetch(ctx context.Context, ids []int) (err error) {
	f.ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	f.read, err = f.BatchGet(ctx, f.ids)
	f.now = slices.Clone(f.read)
	return err
}

// row returns a row that has been fetched. It may be changed.
func (f *factors) row(id int) []float32 {
	i, _ := slices.BinarySearch(f.ids, id)
	return f.now[i*f.rank : (i+1)*f.rank]
}

// commit adds the changes of the step to the table.
func (f *factors) commit() error {
	for i, v := range f.read {
		f.now[i] -= v
	}
	return f.BatchInc(f.ids, f.now)
}

// model predicts the rating L[user]·R[item].
type model struct {
	kv   *kvstore.KV
	l, r *factors
}

// step is a clock: it reads the rows of some ratings and changes them by one rating after the
// other. It returns the sum of the squared errors, each before its change.
func (m *model) step(ctx context.Context, list []data.Rating, lr float32) (sum float64, _ error) {
	var users, items []int
	for _, x := range list {
		users, items = append(users, x.User), append(items, x.Item)
	}
	if err := errors.Join(m.l.fetch(ctx, users), m.r.fetch(ctx, items)); err != nil {
		return 0, err
	}
	for _, x := range list {
		p, q, e := m.l.row(x.User), m.r.row(x.Item), x.Value
		for k := range p {
			e -= p[k] * q[k]
		}
		for k := range p {
			p[k], q[k] = p[k]+lr*(e*q[k]-0.01*p[k]), q[k]+lr*(e*p[k]-0.01*q[k])
		}
		sum += float64(e * e)
	}
	return sum, errors.Join(m.l.commit(), m.r.commit(), m.kv.Clock(ctx))
}

// run trains the factors and returns the root mean squared error of ratings that are not known.
func run(ctx context.Context, o options) (rmse float64, err error) {
	kv, err := kvstore.Open(ctx, o.store, kvstore.Staleness(o.staleness))
	if err != nil {
		return 0, err
	}
	defer kv.Close()
	l, err := create(ctx, kv, "L", nd.Shape{o.Users, o.Rank})
	r, err2 := create(ctx, kv, "R", nd.Shape{o.Items, o.Rank})
	m, sum := &model{kv, l, r}, 0.0
	all, share := o.Draw(o.ratings+o.ratings/10), o.ratings/kv.NumWorkers()
	err = errors.Join(err, err2, kv.Clock(ctx))
	for epoch := 0; epoch < o.epochs && err == nil; epoch++ {
		total := 0.0
		for batch := range slices.Chunk(all[kv.Rank()*share:][:share], o.batch) {
			if sum, err = m.step(ctx, batch, o.lr); err != nil {
				return 0, err
			}
			total += sum / float64(share)
		}
		fmt.Printf("worker %d, epoch %d: training error %.4f\n", kv.Rank(), epoch, math.Sqrt(total))
	}
	for range o.staleness { // afterwards Get sees all changes of all workers
		err = errors.Join(err, kv.Clock(ctx))
	}
	if err == nil {
		sum, err = m.step(ctx, all[o.ratings:], 0)
	}
	rmse = math.Sqrt(sum / float64(len(all)-o.ratings))
	fmt.Printf("worker %d: validation error %.4f\n", kv.Rank(), rmse)
	return rmse, err
}
