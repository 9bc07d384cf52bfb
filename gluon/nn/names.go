package nn

import (
	"gomx/gluon"
	layers "gomx/op/nn"
)

// layer is the scope of a layer whose operator MXNet calls fwd.
func layer(class string) gluon.Scope {
	return gluon.Scope{Prefix: class, Numbered: true, Names: map[string]string{"": "fwd"}}
}

// activated is the scope of a layer with an activation of its own.
func activated(class, activation string) gluon.Scope {
	s := layer(class)
	s.Names[layers.Activation.Name] = activation + "_fwd"
	return s
}

// Scope says how MXNet names the layer.
func (c *Conv) Scope() gluon.Scope { return activated("conv", c.Activation) }

// Scope says how MXNet names the layer.
func (c *ConvTranspose) Scope() gluon.Scope { return activated("conv", c.Activation) }

// Scope says how MXNet names the layer.
func (d *Dense) Scope() gluon.Scope { return activated("dense", d.Activation) }

// Scope says how MXNet names the layer.
func (e *Embedding) Scope() gluon.Scope { return layer("embedding") }

// Scope says how MXNet names the layer.
func (d *Dropout) Scope() gluon.Scope { return layer("dropout") }

// Scope says how MXNet names the layer.
func (b *BatchNorm) Scope() gluon.Scope { return layer("batchnorm") }

// Scope says how MXNet names the layer.
func (n *InstanceNorm) Scope() gluon.Scope { return layer("instancenorm") }

// Scope says how MXNet names the layer.
func (p *MaxPool) Scope() gluon.Scope { return layer("pool") }

// Scope says how MXNet names the layer.
func (p *AvgPool) Scope() gluon.Scope { return layer("pool") }

// Scope says how MXNet names the layer.
func (GlobalMaxPool) Scope() gluon.Scope { return layer("pool") }

// Scope says how MXNet names the layer.
func (GlobalAvgPool) Scope() gluon.Scope { return layer("pool") }

// Scope says how MXNet names the layer.
func (a Activation) Scope() gluon.Scope { return layer(string(a)) }

// Scope says how MXNet names the layer.
func (LeakyReLU) Scope() gluon.Scope { return layer("leakyrelu") }

// Scope says how MXNet names the layer.
func (p *PReLU) Scope() gluon.Scope { return layer("prelu") }

// Scope says how MXNet names the layer.
func (GELU) Scope() gluon.Scope { return layer("gelu") }

// Scope says how MXNet names the layer.
func (SELU) Scope() gluon.Scope { return layer("selu") }

// Scope says how MXNet names the layer.
func (Flatten) Scope() gluon.Scope { return gluon.Scope{Prefix: "flatten", Numbered: true} }

// Scope gives the container no name: its parts are named as parts of the block around it.
func (c *Concurrent) Scope() gluon.Scope { return gluon.Scope{} }
