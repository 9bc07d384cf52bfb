package main

import (
	"math"
	"math/rand/v2"
)

// cartPole is a pole on a cart that a force pushes to the left or to the right every 20 ms (Barto,
// Sutton and Anderson, 1983). An episode ends when the pole or the cart is too far from the middle,
// or after longest pushes.
type cartPole struct {
	state [4]float64 // position in m, speed, angle of the pole in rad, angular speed
	steps int
}

const longest = 200 // pushes of an episode

// reset begins an episode near the middle.
func (c *cartPole) reset(r *rand.Rand) {
	c.steps = 0
	for i := range c.state {
		c.state[i] = 0.1*r.Float64() - 0.05
	}
}

// push pushes to the left (0) or to the right (1). fallen says that the pole or the cart is too far
// from the middle, over that the episode is at its end.
func (c *cartPole) push(action int) (fallen, over bool) {
	const (
		gravity, cart, pole, half = 9.8, 1.0, 0.1, 0.5 // m/s², kg, kg, m: half the pole's length
		force, tick               = 10.0, 0.02         // N, s
	)
	f := force * float64(2*action-1)
	sin, cos := math.Sincos(c.state[2])
	pushed := (f + pole*half*c.state[3]*c.state[3]*sin) / (cart + pole)
	turn := (gravity*sin - cos*pushed) / (half * (4.0/3 - pole*cos*cos/(cart+pole)))
	move := pushed - pole*half*turn*cos/(cart+pole)
	for i, rate := range []float64{c.state[1], move, c.state[3], turn} {
		c.state[i] += tick * rate
	}
	c.steps++
	fallen = math.Abs(c.state[0]) > 2.4 || math.Abs(c.state[2]) > 12*math.Pi/180
	return fallen, fallen || c.steps >= longest
}

// observe appends the state, in units that are about 1.
func (c *cartPole) observe(x []float32) []float32 {
	return append(x, float32(c.state[0]), float32(c.state[1]), float32(5*c.state[2]),
		float32(c.state[3]))
}
