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

// most is the error of unknown ratings that must be reached; their noise is 0.1.
const most = 0.13

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
	launch.Main(func(ctx context.Context) error {
		rmse, err := run(ctx, o)
		if err == nil && rmse > most {
			err = fmt.Errorf("validation error %.4f, want at most %v", rmse, most)
		}
		return err
	})
}

// step reads the rows of some ratings and changes them by one rating after the other. It returns
// the mean of the squared errors, each before its change.
func step(ctx context.Context, l, r *factors, all []data.Rating, lr float32) (mean float64,
	err error) {
	var users, items []int
	for _, x := range all {
		users, items = append(users, x.User), append(items, x.Item)
	}
	if err := errors.Join(l.fetch(ctx, users), r.fetch(ctx, items)); err != nil {
		return 0, err
	}
	for _, x := range all {
		p, q, e := l.row(x.User), r.row(x.Item), x.Value
		for k := range p {
			e -= p[k] * q[k]
		}
		for k := range p {
			p[k], q[k] = p[k]+lr*(e*q[k]-0.01*p[k]), q[k]+lr*(e*p[k]-0.01*q[k])
		}
		mean += float64(e*e) / float64(len(all))
	}
	return mean, errors.Join(l.commit(), r.commit())
}

// run trains the factors and returns the root mean squared error of ratings that are not known.
func run(ctx context.Context, o options) (rmse float64, err error) {
	kv, err := kvstore.Open(ctx, o.store, kvstore.Staleness(o.staleness))
	if err != nil {
		return 0, err
	}
	defer kv.Close()
	left, err := kv.Table(ctx, "L", nd.Shape{o.Users, o.Rank})
	right, err2 := kv.Table(ctx, "R", nd.Shape{o.Items, o.Rank})
	l, r, mean := &factors{Table: left, rank: o.Rank}, &factors{Table: right, rank: o.Rank}, 0.0
	done := kv.Resumed() // clocks that an earlier process in the place of this worker has made
	clock := func(work func() error) {
		if done > 0 {
			done--
		} else if err == nil {
			err = errors.Join(work(), kv.Clock(ctx))
		}
	}
	err = errors.Join(err, err2)
	clock(func() error { return errors.Join(l.start(o.Users, kv), r.start(o.Items, kv)) })
	all, share := o.Draw(o.ratings+o.ratings/10), o.ratings/kv.NumWorkers()
	for epoch := 0; epoch < o.epochs && err == nil; epoch++ {
		for batch := range slices.Chunk(all[kv.Rank()*share:][:share], o.batch) {
			clock(func() (err error) { mean, err = step(ctx, l, r, batch, o.lr); return err })
		}
		fmt.Printf("worker %d, epoch %d: error %.4f\n", kv.Rank(), epoch, math.Sqrt(mean))
	}
	for range o.staleness { // afterwards Get sees all changes of all workers
		clock(func() error { return nil })
	}
	if err == nil {
		mean, err = step(ctx, l, r, all[o.ratings:], 0)
		rmse = math.Sqrt(mean)
		fmt.Printf("worker %d: validation error %.4f\n", kv.Rank(), rmse)
	}
	return rmse, err
}
