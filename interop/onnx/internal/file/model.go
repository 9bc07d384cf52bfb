package file

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"gomx/interop/onnx/internal/onnxpb"
)

const (
	// maxNodes is the greatest number of nodes, with the nodes of inner graphs.
	maxNodes = 1 << 20
	// maxDepth is the greatest depth of graphs in attributes.
	maxDepth = 32
	// maxRank is the greatest number of axes of a tensor.
	maxRank = 64
)

// Decode reads the message of a model and checks the bounds on its graphs.
func Decode(data []byte) (*onnxpb.ModelProto, error) {
	model := &onnxpb.ModelProto{}
	if err := proto.Unmarshal(data, model); err != nil {
		return nil, fmt.Errorf("not a model of ONNX: %w", err)
	}
	if model.Graph == nil {
		return nil, fmt.Errorf("the model has no graph, want one")
	}
	count := 0
	if err := checkGraph(model.Graph, 0, &count); err != nil {
		return nil, err
	}
	for _, f := range model.GetFunctions() {
		g := &onnxpb.GraphProto{Name: f.Name, Node: f.GetNode()}
		if err := checkGraph(g, 0, &count); err != nil {
			return nil, err
		}
	}
	return model, nil
}

// checkGraph bounds the number of nodes and the depth of graphs inside graphs.
func checkGraph(g *onnxpb.GraphProto, depth int, count *int) error {
	if depth > maxDepth {
		return fmt.Errorf("graph %q lies in %d others, want at most %d", g.GetName(), depth,
			maxDepth)
	}
	for _, n := range g.GetNode() {
		if *count++; *count > maxNodes {
			return fmt.Errorf("the model has more than %d nodes", maxNodes)
		}
		for _, a := range n.GetAttribute() {
			for _, inner := range Graphs(a) {
				if err := checkGraph(inner, depth+1, count); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Graphs lists the graphs of an attribute.
func Graphs(a *onnxpb.AttributeProto) []*onnxpb.GraphProto {
	if a.GetG() != nil {
		return append([]*onnxpb.GraphProto{a.GetG()}, a.GetGraphs()...)
	}
	return a.GetGraphs()
}
