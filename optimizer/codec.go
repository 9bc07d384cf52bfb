package optimizer

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"gomx/op"
)

// kinds are the optimizers by MXNet's names.
var kinds = map[string]reflect.Type{}

// schedules are the schedules by the names that Encode writes.
var schedules = map[string]reflect.Type{
	"factor":      reflect.TypeFor[FactorScheduler](),
	"multifactor": reflect.TypeFor[MultiFactorScheduler](),
	"poly":        reflect.TypeFor[PolyScheduler](),
	"cosine":      reflect.TypeFor[CosineScheduler](),
}

// Register makes an optimizer known to New and Decode under its name. It must be a struct whose
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
	for _, o := range []Optimizer{SGD{}, NAG{}, Signum{}, Adam{}, Adamax{}, Nadam{}, AdaGrad{}, AdaDelta{},
		RMSProp{}, Ftrl{}, FTML{}, LAMB{}, LARS{}, LBSGD{}, DCASGD{}, SGLD{}, Test{}} {
		Register(o)
	}
	kinds["ccsgd"] = kinds["sgd"]
}

// Names returns the names that New knows, sorted.
func Names() []string { return slices.Sorted(maps.Keys(kinds)) }

// New makes an optimizer from MXNet's name and keyword arguments: New("sgd",
// map[string]any{"learning_rate": 0.1}). Numbers may be of type int or float64; nil leaves the
// default.
func New(name string, kwargs map[string]any) (Optimizer, error) {
	typ := kinds[strings.ToLower(name)]
	if typ == nil {
		return nil, fmt.Errorf("optimizer: unknown name %q, want one of %s", name, strings.Join(Names(), ", "))
	}
	v, err := decode(typ, kwargs)
	if lr, ok := number(kwargs["learning_rate"]); err == nil && ok && lr == 0 {
		err = fmt.Errorf("parameter learning_rate: 0, want a positive number")
	}
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
		return nil, fmt.Errorf("optimizer: unknown schedule %q, want one of %s", name, strings.Join(slices.Sorted(maps.Keys(schedules)), ", "))
	}
	v, err := decode(typ, kwargs)
	if err != nil {
		return nil, fmt.Errorf("schedule %s: %w", name, err)
	}
	return v.Interface().(Schedule), nil
}

// named is the form in which optimizers and schedules travel.
type named struct {
	Name   string         `json:"name"`
	Params map[string]any `json:"params"`
}

// Encode writes an optimizer as JSON: its name and the parameters that are set.
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

// Decode reads what Encode writes.
func Decode(data []byte) (Optimizer, error) {
	var n named
	if err := json.Unmarshal(data, &n); err != nil {
		return nil, fmt.Errorf("optimizer: %w", err)
	}
	return New(n.Name, n.Params)
}

// encode puts the fields of a struct that are set into params.
func encode(v reflect.Value, params map[string]any) error {
	for i := range v.NumField() {
		f, field := v.Type().Field(i), v.Field(i)
		if f.Anonymous {
			if err := encode(field, params); err != nil {
				return err
			}
			continue
		}
		name, not := tag(f)
		if field.IsZero() {
			continue
		}
		switch x := field.Interface().(type) {
		case op.Opt[float64]:
			params[name] = x.Value()
		case Schedule:
			n, err := encodeSchedule(x)
			if err != nil {
				return err
			}
			params[name] = n
		case bool:
			params[name] = x != not
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
	return named{}, fmt.Errorf("schedule %T has no name to travel under", s)
}

// tag returns the name of a field, and whether its value is stored negated.
func tag(f reflect.StructField) (name string, not bool) {
	name, option, _ := strings.Cut(f.Tag.Get("opt"), ",")
	return name, option == "not"
}

// decode makes a struct of a type from named values.
func decode(typ reflect.Type, params map[string]any) (reflect.Value, error) {
	v := reflect.New(typ).Elem()
	for _, key := range slices.Sorted(maps.Keys(params)) {
		field, not, ok := find(v, key)
		if !ok {
			return v, fmt.Errorf("unknown parameter %q, want one of %s", key, strings.Join(tags(typ), ", "))
		}
		if params[key] == nil {
			continue
		}
		if err := set(field, params[key], not); err != nil {
			return v, fmt.Errorf("parameter %s: %w", key, err)
		}
	}
	return v, nil
}

func find(v reflect.Value, key string) (field reflect.Value, not, ok bool) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Anonymous {
			if field, not, ok = find(v.Field(i), key); ok {
				return field, not, true
			}
			continue
		}
		if name, not := tag(f); name == key {
			return v.Field(i), not, true
		}
	}
	return field, false, false
}

func tags(typ reflect.Type) (names []string) {
	for i := range typ.NumField() {
		f := typ.Field(i)
		if f.Anonymous {
			names = append(names, tags(f.Type)...)
			continue
		}
		name, _ := tag(f)
		names = append(names, name)
	}
	return names
}

// set stores a value as JSON has it, or as a Go program writes it, in a field.
func set(field reflect.Value, value any, not bool) error {
	switch field.Interface().(type) {
	case bool:
		b, ok := value.(bool)
		if !ok {
			return fmt.Errorf("%v, want true or false", value)
		}
		field.SetBool(b != not)
		return nil
	case string:
		s, ok := value.(string)
		if !ok {
			return fmt.Errorf("%v, want a string", value)
		}
		field.SetString(s)
		return nil
	case map[string]float64:
		return setMap(field, value)
	case []int:
		return setList(field, value)
	}
	if field.Type() == reflect.TypeFor[Schedule]() {
		return setSchedule(field, value)
	}
	return setNumber(field, value)
}

func setNumber(field reflect.Value, value any) error {
	n, ok := number(value)
	if !ok {
		return fmt.Errorf("%v, want a number", value)
	}
	switch field.Interface().(type) {
	case float64:
		field.SetFloat(n)
	case op.Opt[float64]:
		field.Set(reflect.ValueOf(op.Some(n)))
	case int:
		if n != math.Trunc(n) || math.Abs(n) > 1<<53 {
			return fmt.Errorf("%v, want an integer", value)
		}
		field.SetInt(int64(n))
	default:
		return fmt.Errorf("has no text form: type %s", field.Type())
	}
	return nil
}

func number(value any) (float64, bool) {
	switch n := value.(type) {
	case float64:
		return n, true
	case int:
		return float64(n), true
	}
	return 0, false
}

func setMap(field reflect.Value, value any) error {
	m := map[string]float64{}
	switch x := value.(type) {
	case map[string]float64:
		maps.Copy(m, x)
	case map[string]any:
		for k, v := range x {
			n, ok := number(v)
			if !ok {
				return fmt.Errorf("%s: %v, want a number", k, v)
			}
			m[k] = n
		}
	default:
		return fmt.Errorf("%v, want numbers by name", value)
	}
	field.Set(reflect.ValueOf(m))
	return nil
}

func setList(field reflect.Value, value any) error {
	var list []int
	switch x := value.(type) {
	case []int:
		list = slices.Clone(x)
	case []any:
		for _, v := range x {
			n, ok := number(v)
			if !ok || n != math.Trunc(n) {
				return fmt.Errorf("%v, want integers", value)
			}
			list = append(list, int(n))
		}
	default:
		return fmt.Errorf("%v, want a list of integers", value)
	}
	field.Set(reflect.ValueOf(list))
	return nil
}

func setSchedule(field reflect.Value, value any) error {
	var s Schedule
	switch x := value.(type) {
	case Schedule:
		s = x
	case map[string]any:
		name, _ := x["name"].(string)
		params, _ := x["params"].(map[string]any)
		var err error
		if s, err = NewSchedule(name, params); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%v, want a schedule", value)
	}
	field.Set(reflect.ValueOf(s))
	return nil
}
