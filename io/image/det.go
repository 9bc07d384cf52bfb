package image

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Objects are the objects in a picture: rows of Width numbers, at least five. A row begins with the
// class and with left, top, right and bottom of the object's box, in parts of the picture's width
// and height.
type Objects struct {
	Width  int
	Values []float32
}

// ObjectsOf returns the objects of a label of MXNet's format, and the numbers before them: the
// number of these numbers, the width of a row, further numbers; then the rows. Boxes without area
// are left out. The objects are a copy.
func ObjectsOf(label []float32) (Objects, []float32, error) {
	bad := func(why string) (Objects, []float32, error) {
		return Objects{}, nil, fmt.Errorf("image: label of %d numbers %s", len(label), why)
	}
	if len(label) < 7 {
		return bad("for objects, want at least 7: two numbers and one object")
	}
	if !(label[0] >= 2 && label[0] <= float32(len(label)) && label[1] >= 5 && label[1] <= 1<<20) {
		return bad(fmt.Sprintf("begins with %v and %v, want the number of numbers before the "+
			"objects, at least 2, and the width of an object, at least 5", label[0], label[1]))
	}
	head, width := int(label[0]), int(label[1])
	rest := label[head:]
	if len(rest)%width != 0 {
		return bad(fmt.Sprintf("has %d numbers of objects, want a multiple of %d", len(rest), width))
	}
	o := Objects{Width: width}
	for ; len(rest) > 0; rest = rest[width:] {
		if box := rest[1:5]; box[2] > box[0] && box[3] > box[1] {
			o.Values = append(o.Values, rest[:width]...)
		}
	}
	return o, label[:head], nil
}

// Len returns the number of objects.
func (o Objects) Len() int { return len(o.Values) / max(1, o.Width) }

// Row returns the numbers of an object.
func (o Objects) Row(i int) []float32 { return o.Values[i*o.Width : (i+1)*o.Width : (i+1)*o.Width] }

// mirror exchanges left and right.
func (o Objects) mirror() {
	for i := range o.Len() {
		b := o.Row(i)
		b[1], b[3] = 1-b[3], 1-b[1]
	}
}

// DetAugmenter changes a picture and the boxes of its objects. It holds settings and no state.
//
// MXNet: image.DetAugmenter.
type DetAugmenter interface {
	// ApplyDet returns the changed picture and objects. It may overwrite both. Random changes depend
	// only on r.
	ApplyDet(m Picture, o Objects, r *rand.Rand) (Picture, Objects, error)
}

// DetSequentialAug applies one augmenter after the other.
type DetSequentialAug []DetAugmenter

// ApplyDet implements DetAugmenter.
func (a DetSequentialAug) ApplyDet(m Picture, o Objects, r *rand.Rand) (Picture, Objects, error) {
	for _, one := range a {
		var err error
		if m, o, err = one.ApplyDet(m, o, r); err != nil {
			return nil, o, err
		}
	}
	return m, o, nil
}

// DetBorrowAug applies an augmenter that leaves the places of objects, in parts of the picture,
// unchanged.
type DetBorrowAug struct{ Augmenter Augmenter }

// ApplyDet implements DetAugmenter.
func (a DetBorrowAug) ApplyDet(m Picture, o Objects, r *rand.Rand) (Picture, Objects, error) {
	m, err := a.Augmenter.Apply(m, r)
	return m, o, err
}

// DetRandomSelectAug applies one augmenter of a list, or none with probability Skip.
type DetRandomSelectAug struct {
	List []DetAugmenter
	Skip float64
}

// ApplyDet implements DetAugmenter.
func (a DetRandomSelectAug) ApplyDet(m Picture, o Objects, r *rand.Rand) (Picture, Objects,
	error) {
	if len(a.List) == 0 || r.Float64() < a.Skip {
		return m, o, nil
	}
	return a.List[r.IntN(len(a.List))].ApplyDet(m, o, r)
}

// DetHorizontalFlipAug exchanges left and right with probability P.
type DetHorizontalFlipAug struct{ P float64 }

// ApplyDet implements DetAugmenter.
func (a DetHorizontalFlipAug) ApplyDet(m Picture, o Objects, r *rand.Rand) (Picture, Objects,
	error) {
	if r.Float64() < a.P {
		m.mirror()
		o.mirror()
	}
	return m, o, nil
}

// box is a rectangle in parts of a picture.
type box struct{ left, top, right, bottom float64 }

func boxOf(row []float32) box {
	return box{float64(row[1]), float64(row[2]), float64(row[3]), float64(row[4])}
}

func (b box) area() float64 { return max(0, b.right-b.left) * max(0, b.bottom-b.top) }

// common returns the intersection of two boxes.
func (b box) common(c box) box {
	return box{max(b.left, c.left), max(b.top, c.top), min(b.right, c.right),
		min(b.bottom, c.bottom)}
}

// within sets the box of an object to its place in another box, cut at the edges of that.
func (b box) within(row []float32) {
	o := boxOf(row)
	w, h := b.right-b.left, b.bottom-b.top
	for k, v := range []float64{(o.left - b.left) / w, (o.top - b.top) / h, (o.right - b.left) / w,
		(o.bottom - b.top) / h} {
		row[k+1] = float32(min(max(v, 0), 1))
	}
}

// whole rounds to an integer as Python does.
func whole(v float64) int { return int(math.RoundToEven(v)) }
