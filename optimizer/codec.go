package optimizer

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"gomx/op"
)

// kinds maps MXNet's names to optimizers.
var kinds = map[string]reflect.Type{}

// schedules maps the names that Encode writes to schedules.
var schedules = map[string]reflect.Type{
	"factor":      reflect.TypeFor[FactorScheduler](),
	"multifactor": reflect.TypeFor[MultiFactorScheduler](),
	"poly":        reflect.TypeFor[PolyScheduler](),
	"cosine":      reflect.TypeFor[CosineScheduler](),
}

// Register adds an optimizer, so that New and Decode know its name. It must be a struct whose
// exported fields have opt tags. Call it from init; it panics when the name is taken.
func Register(o Optimizer) {
	name, typ := o.Name(), reflect.TypeOf(o)
	if typ.Kind() != reflect.Struct {
		panic(fmt.Sprintf("optimizer: %s is a %s, want a struct", name, typ))
	}
	if old, taken := kinds[name]; taken {
		panic(fmt.Sprintf("optimizer: name %s taken by %s", name, old))
	}
	kinds[name] = typ
}

func init() {
	for _, o := range []Optimizer{SGD{}, NAG{}, Signum{}, Adam{}, AdamW{}, Adamax{}, Nadam{},
		AdaGrad{}, GroupAdaGrad{}, AdaDelta{},
		RMSProp{}, Ftrl{}, FTML{}, LAMB{}, LARS{}, LBSGD{}, DCASGD{}, SGLD{}, Test{}} {
		Register(o)
	}
	kinds["ccsgd"] = kinds["sgd"]
}

// Names returns the names that New knows, sorted.
func Names() []string { return slices.Sorted(maps.Keys(kinds)) }

// New makes an optimizer from MXNet's name and keyword arguments: New("sgd",
// map[string]any{"learning_rate": 0.1}). Numbers may be of type int or float64; nil means the
// default.
func New(name string, kwargs map[string]any) (Optimizer, error) {
	typ := kinds[strings.ToLower(name)]
	if typ == nil {
		return nil, fmt.Errorf("optimizer: unknown name %q, want one of %s", name,
			strings.Join(Names(), ", "))
	}
	v, err := decode(typ, kwargs)
	if err != nil {
		return nil, fmt.Errorf("optimizer %s: %w", name, err)
	}
	return v.Interface().(Optimizer), nil
}

// NewSchedule makes a schedule from its name (factor, multifactor, poly, cosine) and MXNet's
// keyword arguments.
func NewSchedule(name string, kwargs map[string]any) (Schedule, error) {
	typ := schedules[name]
	if typ == nil {
		return nil, fmt.Errorf("optimizer: unknown schedule %q, want one of %s", name,
			strings.Join(slices.Sorted(maps.Keys(schedules)), ", "))
	}
	v, err := decode(typ, kwargs)
	if err != nil {
		return nil, fmt.Errorf("schedule %s: %w", name, err)
	}
	return v.Interface().(Schedule), nil
}

// named is the encoded form of optimizers and schedules.
type named struct {
	Name   string         `json:"name"`
	Params map[string]any `json:"params"`
}

// Encode returns an optimizer as JSON: its name and the parameters that are set.
func Encode(o Optimizer) ([]byte, error) {
	if kinds[o.Name()] != reflect.TypeOf(o) {
		return nil, fmt.Errorf("optimizer: %T is not registered as %s", o, o.Name())
	}
	params := map[string]any{}
	if err := encode(reflect.ValueOf(o), params); err != nil {
		return nil, fmt.Errorf("optimizer %s: %w", o.Name(), err)
	}
	return json.Marshal(named{o.Name(), params})
}

// Decode returns the optimizer that Encode encoded.
func Decode(data []byte) (Optimizer, error) {
	var n named
	if err := json.Unmarshal(data, &n); err != nil {
		return nil, fmt.Errorf("optimizer: %w", err)
	}
	return New(n.Name, n.Params)
}

// encode adds the fields of a struct that are set to params.
func encode(v reflect.Value, params map[string]any) error {
	for i := range v.NumField() {
		f, field := v.Type().Field(i), v.Field(i)
		if f.Anonymous {
			if err := encode(field, params); err != nil {
				return err
			}
			continue
		}
		name, option := tag(f)
		if field.IsZero() {
			continue
		}
		switch x := field.Interface().(type) {
		case op.Opt[float64]:
			if x.IsSet() {
				params[name] = x.Value()
			}
		case op.Opt[int]:
			if x.IsSet() {
				params[name] = x.Value()
			}
		case Schedule:
			n, err := encodeSchedule(x)
			if err != nil {
				return err
			}
			params[name] = n
		case bool:
			params[name] = x != (option == "not")
		default:
			params[name] = x
		}
	}
	return nil
}

func encodeSchedule(s Schedule) (named, error) {
	for name, typ := range schedules {
		if typ == reflect.TypeOf(s) {
			n := named{name, map[string]any{}}
			return n, encode(reflect.ValueOf(s), n.Params)
		}
	}
	return named{}, fmt.Errorf("schedule %T has no encoded form, want a schedule of this package",
		s)
}

// tag returns the name of a field and its option: "not" if the field holds the negated parameter,
// "positive" for a number whose zero means the default, so that zero is not a valid parameter.
func tag(f reflect.StructField) (name, option string) {
	name, option, _ = strings.Cut(f.Tag.Get("opt"), ",")
	return name, option
}
