package zoo

import (
	"fmt"
	"slices"

	"gomx/op"
)

// Option is an option of a network. An option that a network does not have is an error: Model
// returns it, the constructors panic.
type Option func(*config)

// config has the options of a network.
type config struct {
	given     []string // names of the options
	classes   int
	thumbnail bool
	batchNorm bool
	dropout   float64
	bnSize    int
	prefix    string
}

// Classes is the number of classes, 1000 by default.
func Classes(n int) Option {
	return func(c *config) { c.classes, c.given = n, append(c.given, "classes") }
}

// Thumbnail makes a residual network one for small pictures: it begins with a convolution of
// stride 1 and without pooling.
func Thumbnail() Option {
	return func(c *config) { c.thumbnail, c.given = true, append(c.given, "thumbnail") }
}

// BatchNorm puts batch normalization behind each convolution of a VGG network.
func BatchNorm() Option {
	return func(c *config) { c.batchNorm, c.given = true, append(c.given, "batch_norm") }
}

// Dropout is the share of the outputs of each dense layer of a DenseNet that is dropped in
// training, 0 by default.
func Dropout(share float64) Option {
	return func(c *config) { c.dropout, c.given = share, append(c.given, "dropout") }
}

// Bottleneck is the number of channels of the bottleneck in a layer of a DenseNet, in multiples of
// its growth; 4 by default.
func Bottleneck(n int) Option {
	return func(c *config) { c.bnSize, c.given = n, append(c.given, "bn_size") }
}

// Prefix stands before MXNet's global names of parameters and operators, see gluon.GlobalNames. By
// default it is the class of the network with the number 0, such as "resnetv10_".
func Prefix(s string) Option {
	return func(c *config) { c.prefix, c.given = s, append(c.given, "prefix") }
}

// configure reads the options of a network for pictures, which has Classes, Prefix and the
// named ones.
func configure(network string, opts []Option, allowed ...string) config {
	return configured(network, config{classes: 1000, bnSize: 4}, opts,
		append(allowed, "classes", "prefix"))
}

// configured reads the options of a network, which has the named ones, over others.
func configured(network string, c config, opts []Option, allowed []string) config {
	for _, o := range opts {
		o(&c)
	}
	for _, name := range c.given {
		if !slices.Contains(allowed, name) {
			panic(misuse(network, "there is no option %s, want one of %v", name, allowed))
		}
	}
	given := func(name string) bool { return slices.Contains(c.given, name) }
	if given("classes") && c.classes < 1 {
		panic(misuse(network, "%d classes, want at least 1", c.classes))
	}
	if c.dropout < 0 || c.dropout >= 1 {
		panic(misuse(network, "dropout %v, want a share from 0 below 1", c.dropout))
	}
	if given("bn_size") && c.bnSize < 1 {
		panic(misuse(network, "bottleneck of %d, want at least 1", c.bnSize))
	}
	return c
}

// misuse is the error of a wrong argument.
func misuse(network, format string, args ...any) *op.Error {
	return &op.Error{Op: "zoo." + network, Msg: fmt.Sprintf(format, args...), Site: op.CallSite()}
}
