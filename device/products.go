package device

import (
	"fmt"
	"strings"
)

// Product is a class of operators that are mostly products. Processors differ in the classes that
// they compute faster in bfloat16 than in float32.
type Product uint8

// The classes of products.
const (
	Convolutions   Product = iota // convolutions of groups of several channels
	Depthwise                     // convolutions of single channels
	DenseProducts                 // products of two matrices of FewRows rows and more
	FewRowProducts                // products of two matrices of fewer rows
	BatchProducts                 // products of many pairs of matrices
	OtherProducts                 // recurrent layers, transposed convolutions and the like
	numProducts
)

// FewRows is the number of rows from which on a product is one of DenseProducts.
const FewRows = 16

var productNames = [numProducts]string{"convolution", "depthwise", "dense", "few-rows", "batched",
	"other"}

func (p Product) String() string { return productNames[p] }

// Products is a set of classes.
type Products uint8

// AllProducts is the set of all classes; the zero Products has none.
const AllProducts Products = 1<<numProducts - 1

// ProductsOf returns the set of some classes.
func ProductsOf(list ...Product) Products {
	var s Products
	for _, p := range list {
		s |= 1 << p
	}
	return s
}

// Has reports whether a class is in the set.
func (s Products) Has(p Product) bool { return s>>p&1 != 0 }

// List returns the classes of the set.
func (s Products) List() (list []Product) {
	for p := range numProducts {
		if s.Has(p) {
			list = append(list, p)
		}
	}
	return list
}

// String lists the names of the classes between commas, as ParseProducts reads them: "none" and
// "all" stand for the two extremes.
func (s Products) String() string {
	switch s {
	case 0:
		return "none"
	case AllProducts:
		return "all"
	}
	var names []string
	for _, p := range s.List() {
		names = append(names, p.String())
	}
	return strings.Join(names, ",")
}

// ParseProducts reads the text of Products.
func ParseProducts(text string) (Products, error) {
	switch text {
	case "none":
		return 0, nil
	case "all":
		return AllProducts, nil
	}
	var s Products
next:
	for name := range strings.SplitSeq(text, ",") {
		for p := range numProducts {
			if p.String() == name {
				s |= 1 << p
				continue next
			}
		}
		return 0, fmt.Errorf("products %q: no class %q, want none, all or some of %s", text, name,
			strings.Join(productNames[:], ","))
	}
	return s, nil
}
