package data

import (
	"math"
	"math/rand/v2"
)

// Ratings is a made-up matrix of ratings of items by users. A rating is the product of the factors
// of its user and of its item, with noise. The factors are normally distributed, so that ratings
// have a standard deviation of about 1.
type Ratings struct {
	Users, Items int
	Rank         int     // number of factors of a user and of an item
	Noise        float64 // standard deviation
	Seed         uint64
}

// Rating is one element of the matrix.
type Rating struct {
	User, Item int
	Value      float32
}

// Draw draws n ratings of users and items that are all equally likely. The first ratings do not
// depend on n.
func (m Ratings) Draw(n int) []Rating {
	users, items := m.factors(m.Users, 0), m.factors(m.Items, 1)
	r, list := rand.New(rand.NewPCG(m.Seed, 2)), make([]Rating, n)
	for i := range list {
		x := Rating{User: r.IntN(m.Users), Item: r.IntN(m.Items)}
		sum := m.Noise * r.NormFloat64()
		for k := range m.Rank {
			sum += users[x.User*m.Rank+k] * items[x.Item*m.Rank+k]
		}
		x.Value = float32(sum)
		list[i] = x
	}
	return list
}

// factors draws the factors of rows.
func (m Ratings) factors(rows int, stream uint64) []float64 {
	r, list := rand.New(rand.NewPCG(m.Seed, stream)), make([]float64, rows*m.Rank)
	for i := range list {
		list[i] = r.NormFloat64() / math.Pow(float64(m.Rank), 0.25)
	}
	return list
}
