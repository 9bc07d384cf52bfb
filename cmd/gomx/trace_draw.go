package main

import (
	"fmt"
	"strings"

	"gomx/device"
	"gomx/engine"
	"gomx/internal/plot"
)

// The kinds of boxes, in the order of the legend.
const (
	kindForward  = "forward"
	kindBackward = "backward"
	kindUpdate   = "update"
	kindCopy     = "copy"
	kindProgram  = "the program itself"
	kindOther    = "other"
)

var traceKinds = []string{kindForward, kindBackward, kindUpdate, kindCopy, kindProgram, kindOther}

// kind returns the kind of a span's work, which its name tells.
func (r *recording) kind(s *engine.Span) string {
	first, _, _ := strings.Cut(s.Name, "..")
	switch {
	case s.Scope:
		return kindProgram
	case strings.HasSuffix(s.Name, "_update"):
		return kindUpdate
	case strings.HasPrefix(s.Name, "copy"):
		return kindCopy
	case r.layers[first]:
		return kindForward
	case strings.HasSuffix(first, "_backward"):
		return kindBackward
	}
	return kindOther
}

// label returns the text of a span's box: the layers of a segment, or the weight of an update.
func (r *recording) label(s *engine.Span) string {
	if r.kind(s) == kindUpdate {
		if w := r.updated(s); w != nil {
			return r.params[w].name
		}
	}
	return strings.ReplaceAll(strings.ReplaceAll(s.Name, "_backward", ""), "..", " … ")
}

// updated returns the variable of the parameter that span s writes, or nil.
func (r *recording) updated(s *engine.Span) *engine.Var {
	for _, u := range s.Uses {
		if _, ok := r.params[u.Var]; ok && u.Access != engine.Read {
			return u.Var
		}
	}
	return nil
}

// timeline draws the recorded step.
func (r *recording) timeline() *plot.Timeline {
	t := &plot.Timeline{
		Title: "One training step of LeNet on the processor",
		Caption: []string{
			fmt.Sprintf("%d images, %d cores. Kernels that use all cores run on a worker of "+
				"their own, one after the other; each box is an operation of the engine, a "+
				"segment of the compiled graph.", r.images(), r.workers),
			"The program has pushed the whole step, and waits for the outputs, before the first " +
				"convolution is done.",
		},
		Rows: rowNames(r.workers), Kinds: traceKinds,
	}
	for _, s := range r.profile.Spans() {
		t.Boxes = append(t.Boxes, plot.Box{Row: place(&s, r.workers), Kind: r.kind(&s),
			Label: r.label(&s), Note: s.Name, Start: s.Start, End: s.End})
	}
	return t
}

// images is the number of images of the batch. A label takes four bytes and an image takes more, so
// the smaller array holds the labels.
func (r *recording) images() int {
	least := 0
	for _, bytes := range r.batch {
		if least == 0 || bytes < least {
			least = bytes
		}
	}
	return least / 4
}

// rowNames lists the rows of the timeline, from the top.
func rowNames(workers int) []string {
	names := []string{"program"}
	for i := range workers {
		names = append(names, fmt.Sprint("worker ", i))
	}
	return append(names, "wide worker")
}

// place names the row of the timeline in which a span ran.
func place(s *engine.Span, workers int) string {
	switch {
	case s.Lane.Device.Kind != device.KindCPU && s.Lane.Kind == engine.Compute:
		return s.Lane.String() + " compute"
	case s.Lane.Device.Kind != device.KindCPU:
		return s.Lane.String()
	case s.Scope || s.Worker < 0:
		return "program"
	case s.Worker == workers:
		return "wide worker"
	}
	return fmt.Sprint("worker ", s.Worker)
}
