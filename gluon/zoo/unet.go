package zoo

import (
	"gomx/gluon"
	"gomx/gluon/nn"
	nd "gomx/ndarray"
)

// UNetConfig describes a U-Net.
type UNetConfig struct {
	Classes  int // 2 by default
	Channels int // of the first level, doubled by each further one; 64 by default
	Levels   int // times that height and width are halved; 4 by default
}

// UNet gives each pixel of a picture scores of classes (Ronneberger et al., U-Net: Convolutional
// Networks for Biomedical Image Segmentation). Its convolutions keep height and width and are
// normalized. Height and width are multiples of 2^Levels.
type UNet struct {
	gluon.Hooks
	First  nn.Sequential
	Down   []nn.Sequential       // halve height and width, the largest picture first
	Up     []*nn.Conv2DTranspose // double them, the smallest picture first
	Join   []nn.Sequential       // read a picture and the one of the same size before it was halved
	Output *nn.Conv2D
}

// NewUNet makes the network.
func NewUNet(c UNetConfig) *UNet {
	for _, v := range []struct {
		size  *int
		other int
	}{{&c.Classes, 2}, {&c.Channels, 64}, {&c.Levels, 4}} {
		if *v.size == 0 {
			*v.size = v.other
		}
	}
	twice := func(channels int) nn.Sequential {
		return append(active(relu, conv(channels, 3, 1, 1)),
			active(relu, conv(channels, 3, 1, 1))...)
	}
	u := &UNet{First: twice(c.Channels),
		Output: &nn.Conv2D{Channels: c.Classes, Kernel: nn.Square(1)}}
	for i := range c.Levels {
		u.Down = append(u.Down, append(nn.Sequential{&nn.MaxPool2D{}}, twice(c.Channels<<(i+1))...))
		channels := c.Channels << (c.Levels - 1 - i)
		u.Up = append(u.Up, &nn.Conv2DTranspose{Channels: channels, Kernel: nn.Square(2),
			Strides: nn.Square(2)})
		u.Join = append(u.Join, twice(channels))
	}
	return u
}

// Forward returns the scores, of shape (n, Classes, height, width).
func (u *UNet) Forward(x *nd.Array) *nd.Array {
	call, shape := u.Enter(u, x), x.Shape()
	if n := 1 << len(u.Down); len(shape) != 4 || shape[2]%n != 0 || shape[3]%n != 0 {
		panic(misuse("UNet", "pictures of shape %v, want (n, channels, height, width) with height "+
			"and width in multiples of %d", shape, n))
	}
	sizes := []*nd.Array{u.First.Forward(x)}
	for _, d := range u.Down {
		sizes = append(sizes, d.Forward(sizes[len(sizes)-1]))
	}
	y := sizes[len(sizes)-1]
	for i, up := range u.Up {
		same := sizes[len(sizes)-2-i]
		y = u.Join[i].Forward(nd.Concat([]*nd.Array{same, up.Forward(y)},
			nd.ConcatParams{Dim: nd.Some(1)}))
	}
	return call.Leave(u.Output.Forward(y))
}
