package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	nd "gomx/ndarray"
	sym "gomx/symbol"
)

// Model is the content of a checkpoint: a network and its parameters.
type Model struct {
	Symbol *sym.Symbol
	Args   map[string]*nd.Array // arguments except data and labels
	Aux    map[string]*nd.Array // auxiliary states
}

// SymbolPath returns the name of a checkpoint's symbol file: prefix-symbol.json.
func SymbolPath(prefix string) string { return prefix + "-symbol.json" }

// ParamsPath returns the name of a checkpoint's parameter file: prefix-0003.params.
func ParamsPath(prefix string, epoch int) string {
	return fmt.Sprintf("%s-%04d.params", prefix, epoch)
}

// StatesPath returns the name of a checkpoint's file of optimizer states: prefix-0003.states.
func StatesPath(prefix string, epoch int) string {
	return fmt.Sprintf("%s-%04d.states", prefix, epoch)
}

// Save writes the checkpoint of an epoch as MXNet's Module does: the symbol, then the parameters.
// An error or a crash leaves each file complete or unchanged.
func (m *Model) Save(prefix string, epoch int) error {
	if epoch < 0 {
		return fmt.Errorf("checkpoint: %s: epoch %d, want 0 or more", prefix, epoch)
	}
	if m.Symbol == nil {
		return fmt.Errorf("checkpoint: %s: the model has no symbol, want one", prefix)
	}
	if err := SaveSymbol(SymbolPath(prefix), m.Symbol); err != nil {
		return err
	}
	return SaveArrays(ParamsPath(prefix, epoch), m.arrays())
}

// arrays lists the parameters under MXNet's keys, in the order of the symbol.
func (m *Model) arrays() []Named {
	return slices.Concat(
		sorted("arg:", m.Args, m.Symbol.Arguments()),
		sorted("aux:", m.Aux, m.Symbol.AuxStates()))
}

// Load reads the checkpoint of an epoch. Keys of parameters may have MXNet's prefixes arg: and
// aux:, as in files of Module and of exported Gluon networks. For keys without a prefix, the symbol
// says which are auxiliary states.
func Load(prefix string, epoch int, opts ...LoadOption) (*Model, error) {
	s, err := LoadSymbol(SymbolPath(prefix))
	if err != nil {
		return nil, err
	}
	m := &Model{Symbol: s}
	path := ParamsPath(prefix, epoch)
	if m.Args, m.Aux, err = LoadParams(path, s.AuxStates(), opts...); errors.Is(err,
		fs.ErrNotExist) {
		return nil, fmt.Errorf("%w (found epochs of %s: %s)", err, prefix, epochs(prefix))
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// LoadParams reads a file of parameters and separates auxiliary states from arguments: by the
// prefixes aux: and arg:, and for names without a prefix by the list auxNames.
func LoadParams(path string, auxNames []string, opts ...LoadOption) (args, aux map[string]*nd.Array,
	err error) {
	arrays, err := LoadMap(path, opts...)
	if err != nil {
		return nil, nil, err
	}
	args, aux = map[string]*nd.Array{}, map[string]*nd.Array{}
	for key, a := range arrays {
		if a == nil {
			return nil, nil, fmt.Errorf("checkpoint: %s: array %q is none, want a shape and values",
				path, key)
		}
		into, name := args, key
		switch kind, rest, _ := strings.Cut(key, ":"); {
		case kind == "arg" && rest != "":
			name = rest
		case kind == "aux" && rest != "":
			into, name = aux, rest
		case slices.Contains(auxNames, key):
			into = aux
		}
		if into[name] != nil {
			return nil, nil, fmt.Errorf("checkpoint: %s: %q occurs with a prefix and without", path,
				name)
		}
		into[name] = a
	}
	return args, aux, nil
}

// epochs lists the checkpoints of a prefix, for errors.
func epochs(prefix string) string {
	list, _ := Epochs(prefix)
	if len(list) == 0 {
		return "none"
	}
	const most = 20
	names := make([]string, min(len(list), most))
	for i := range names {
		names[i] = fmt.Sprintf("%04d", list[i])
	}
	return strings.Join(names, ", ")
}
