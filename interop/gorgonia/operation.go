package gorgonia

import (
	"regexp"
	"strconv"
	"strings"

	G "gorgonia.org/gorgonia"
)

// operation holds the parts of the text of an operation of Gorgonia; only the text is public. The
// texts belong to one version: TestOperationTexts checks them.
//
//	im2col<(3,3), (1, 1), (1,1) (1, 1)>   im2col, [3 3 1 1 1 1 1 1]
//	Σ[0 1]                                Σ, [0 1]
//	Softmax{-1, true}()                   Softmax, [-1], flag
//	>= true                               >=, flag
type operation struct {
	text string
	name string // text before the parameters
	ints []int  // integer parameters
	flag bool   // one of the parameters is true
}

var (
	// The flag of comparisons and arithmetic: the result has the type of the operands.
	binaryText = regexp.MustCompile(`^(\S+) (true|false)$`)
	otherText  = regexp.MustCompile(`^(Repeat|[^\[({<=]+)(.*)$`)
	integer    = regexp.MustCompile(`-?\d+`)
)

// operationOf returns the parts of the operation of n; an input has an empty text.
func operationOf(n *G.Node) operation {
	if n.Op() == nil {
		return operation{}
	}
	return parseOperation(n.Op().String())
}

func parseOperation(text string) operation {
	o := operation{text: text, name: text}
	if m := binaryText.FindStringSubmatch(text); m != nil {
		o.name, o.flag = m[1], m[2] == "true"
		return o
	}
	if strings.HasPrefix(text, constantText) {
		return o
	}
	if m := otherText.FindStringSubmatch(text); m != nil {
		o.name, o.flag = m[1], strings.Contains(m[2], "true")
		for _, digits := range integer.FindAllString(m[2], -1) {
			if v, err := strconv.Atoi(digits); err == nil {
				o.ints = append(o.ints, v)
			}
		}
	}
	return o
}

// constantText is the beginning of the texts of constants, which have no operands.
const constantText = "const "

// isConstant reports whether n is a constant number or tensor.
func isConstant(n *G.Node) bool { return strings.HasPrefix(operationOf(n).text, constantText) }
