package initializer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// kinds maps MXNet's names to the initializers that have a text form.
var kinds = map[string]reflect.Type{
	"zero": reflect.TypeFor[Zero](), "zeros": reflect.TypeFor[Zero](),
	"one": reflect.TypeFor[One](), "ones": reflect.TypeFor[One](),
	"constant":   reflect.TypeFor[Constant](),
	"uniform":    reflect.TypeFor[Uniform](),
	"normal":     reflect.TypeFor[Normal](),
	"xavier":     reflect.TypeFor[Xavier](),
	"msraprelu":  reflect.TypeFor[MSRAPrelu](),
	"orthogonal": reflect.TypeFor[Orthogonal](),
	"bilinear":   reflect.TypeFor[Bilinear](),
	"fusedrnn":   reflect.TypeFor[FusedRNN](),
	"lstmbias":   reflect.TypeFor[LSTMBias](),
}

// Parse reads MXNet's text form: a name, or a JSON list of name and arguments.
func Parse(text string) (Initializer, error) {
	name := strings.TrimSpace(text)
	args := []byte("{}")
	if strings.HasPrefix(name, "[") {
		var pair []json.RawMessage
		if err := json.Unmarshal([]byte(text), &pair); err != nil || len(pair) != 2 {
			return nil, fmt.Errorf("initializer: %q is not a JSON list of name and arguments", text)
		}
		if err := json.Unmarshal(pair[0], &name); err != nil {
			return nil, fmt.Errorf("initializer: %s is not a name", pair[0])
		}
		args = pair[1]
	}
	typ, ok := kinds[strings.ToLower(name)]
	if !ok {
		return nil, fmt.Errorf("initializer: unknown name %q, want one of %s", name,
			strings.Join(slices.Sorted(maps.Keys(kinds)), ", "))
	}
	v := reflect.New(typ)
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v.Interface()); err != nil {
		return nil, fmt.Errorf("initializer %s: arguments %s: %w", name, args, err)
	}
	if key := zeroArgument(typ, args); key != "" {
		return nil, fmt.Errorf("initializer %s: %s is 0, want another number: the initializer "+
			"zero sets weights to 0", name, key)
	}
	return v.Elem().Interface().(Initializer), nil
}

// Format writes the text form that Parse and MXNet read. Mixed, Load and initializers of other
// packages have no text form.
func Format(init Initializer) (string, error) {
	typ := reflect.TypeOf(init)
	if typ != nil {
		if name := strings.ToLower(typ.Name()); kinds[name] == typ {
			text, err := json.Marshal([]any{name, init})
			return string(text), err
		}
	}
	return "", fmt.Errorf("initializer: %T has no text form", init)
}

// zeroArgument returns the name of an argument that is zero although the zero of its field means
// the default, or an empty string. Such a zero cannot be represented.
func zeroArgument(typ reflect.Type, args []byte) string {
	given := map[string]any{}
	if json.Unmarshal(args, &given) != nil {
		return ""
	}
	for i := range typ.NumField() {
		name, option, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		if option == "omitempty" && given[name] == 0.0 {
			return name
		}
	}
	return ""
}
