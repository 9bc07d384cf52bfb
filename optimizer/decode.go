package optimizer

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"gomx/op"
)

// decode returns a struct of type typ with the given parameters.
func decode(typ reflect.Type, params map[string]any) (reflect.Value, error) {
	v := reflect.New(typ).Elem()
	for _, key := range slices.Sorted(maps.Keys(params)) {
		field, option, ok := find(v, key)
		if !ok {
			return v, fmt.Errorf("unknown parameter %q, want one of %s", key,
				strings.Join(tags(typ), ", "))
		}
		if params[key] == nil {
			continue
		}
		if n, ok := number(params[key]); ok && n == 0 && option == "positive" {
			return v, fmt.Errorf("parameter %s: 0, want a positive number", key)
		}
		if err := set(field, params[key], option == "not"); err != nil {
			return v, fmt.Errorf("parameter %s: %w", key, err)
		}
	}
	return v, nil
}

func find(v reflect.Value, key string) (field reflect.Value, option string, ok bool) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Anonymous {
			if field, option, ok = find(v.Field(i), key); ok {
				return field, option, true
			}
			continue
		}
		if name, option := tag(f); name == key {
			return v.Field(i), option, true
		}
	}
	return field, "", false
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

// set stores a value, decoded from JSON or given by a Go program, in a field; not negates it.
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
	case int, op.Opt[int]:
		if n != math.Trunc(n) || math.Abs(n) > 1<<53 {
			return fmt.Errorf("%v, want an integer", value)
		}
		if field.Kind() == reflect.Int {
			field.SetInt(int64(n))
		} else {
			field.Set(reflect.ValueOf(op.Some(int(n))))
		}
	default:
		return fmt.Errorf("fields of type %s have no encoded form", field.Type())
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
