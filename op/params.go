package op

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// ParamSpec describes one parameter of an operator, as its struct tags declare it:
//
//	Kernel []int `op:"kernel,required" doc:"window (h, w)"`
//	Eps    float64 `op:"eps" default:"0.001" min:"0" doc:"added to the variance"`
//	Parts  int `op:"parts,required" min:"1" max:"65536" doc:"number of outputs"`
//	NoBias bool `op:"no_bias" doc:"leave the bias out"`
//	NoFlatten bool `op:"flatten,not"`       // MXNet's flatten, true by default, stored negated
//	Beta Opt[float64] `op:"beta" default:"1"` // zero is legal, and not the default
//
// A field left at its zero value takes the default. Where zero is legal and not the default the
// field must be an Opt. A required field with an absent tag takes its value when attributes are
// parsed that leave it out, because MXNet has a default there that Go's zero would hide. Options
// after the name: required, not, auto (set from the number of inputs, divided by the tag per where
// there is one), run (a float64 that changes
// from call to call, such as a learning rate: kernels are not prepared for its value but read it
// from the Call, by Handle.At), graph (a *Graph, which is no attribute: see Graph).
type ParamSpec struct {
	Name    string   // MXNet's attribute name
	Field   string   // Go field
	GoType  string   // type of the field
	Default string   // in MXNet's spelling; empty when required, "None" for an unset Opt
	Enum    []string // legal spellings of a string
	Doc     string
	// value of a required parameter that parsed attributes leave out; empty: an error
	Absent   string
	Required bool
	Not      bool // stored negated
	Auto     bool // number of inputs
	Run      bool // read at run time
	Graph    bool // a *Graph, not an attribute
	min, max *float64
	per      int // inputs that the number of an auto parameter counts as one
	index    int
}

// Bounds says in words which numbers are legal, empty if all are.
func (p ParamSpec) Bounds() string {
	switch {
	case p.min != nil && p.max != nil:
		return fmt.Sprintf("%v to %v", *p.min, *p.max)
	case p.min != nil:
		return fmt.Sprintf("at least %v", *p.min)
	case p.max != nil:
		return fmt.Sprintf("at most %v", *p.max)
	}
	return ""
}

// Limits returns the least and the largest value of a number, infinite where there is no bound.
func (p ParamSpec) Limits() (low, high float64) {
	low, high = math.Inf(-1), math.Inf(1)
	if p.min != nil {
		low = *p.min
	}
	if p.max != nil {
		high = *p.max
	}
	return low, high
}

// schema describes a parameter struct. Declare makes it once, by reflection.
type schema struct {
	typ    reflect.Type
	params []ParamSpec
	byName map[string]int
	run    []uintptr // offsets of the parameters that are read at run time
}

func newSchema(opName string, typ reflect.Type) *schema {
	s := &schema{typ: typ, byName: map[string]int{}}
	if typ.Kind() != reflect.Struct {
		panic(fmt.Sprintf("op: %s: parameters are a %s, want a struct", opName, typ))
	}
	for i := range typ.NumField() {
		f := typ.Field(i)
		if f.Anonymous || f.Tag.Get("op") == "" {
			panic(fmt.Sprintf("op: %s: field %s has no op tag", opName, f.Name))
		}
		p := newParam(f, i)
		if msg := s.check(&p, f); msg != "" {
			panic(fmt.Sprintf("op: %s: parameter %s: %s", opName, p.Name, msg))
		}
		if p.Run {
			s.run = append(s.run, f.Offset)
		}
		if !p.Graph {
			s.byName[p.Name] = len(s.params)
		}
		s.params = append(s.params, p)
	}
	return s
}

func newParam(f reflect.StructField, index int) ParamSpec {
	name, options, _ := strings.Cut(f.Tag.Get("op"), ",")
	opts := strings.Split(options, ",")
	for _, o := range opts {
		if !slices.Contains([]string{"", "required", "not", "auto", "run", "graph"}, o) {
			panic(fmt.Sprintf("op: field %s: unknown option %q, want required, not, auto, run "+
				"or graph", f.Name, o))
		}
	}
	p := ParamSpec{Name: name, Field: f.Name, GoType: f.Type.String(), Doc: f.Tag.Get("doc"),
		index:   index,
		Default: f.Tag.Get("default"), Absent: f.Tag.Get("absent"), Required: slices.Contains(opts,
			"required"),
		Not: slices.Contains(opts, "not"), Auto: slices.Contains(opts, "auto"),
		Run:   slices.Contains(opts, "run"),
		Graph: slices.Contains(opts, "graph")}
	if p.per = 1; f.Tag.Get("per") != "" {
		p.per = int(*boundTag(f, "per"))
	}
	if e := f.Tag.Get("enum"); e != "" {
		p.Enum = strings.Split(e, "|")
	}
	p.min, p.max = boundTag(f, "min"), boundTag(f, "max")
	return p
}

// boundTag reads a bound of a number, nil if the field has none.
func boundTag(f reflect.StructField, key string) *float64 {
	m, ok := f.Tag.Lookup(key)
	if !ok {
		return nil
	}
	v, err := strconv.ParseFloat(m, 64)
	if err != nil {
		panic("op: field " + f.Name + ": " + key + " tag " + strconv.Quote(m) + " is not a number")
	}
	return &v
}

// check fills in a missing default and reports a fault of the declaration. A default
// that the zero value cannot express needs an Opt or a lower bound above zero.
func (s *schema) check(p *ParamSpec, f reflect.StructField) string {
	if _, dup := s.byName[p.Name]; dup {
		return "declared twice"
	}
	if p.Graph != (f.Type == reflect.TypeFor[*Graph]()) {
		return "a *Graph and the option graph go together"
	}
	if p.Graph {
		return ""
	}
	v := reflect.New(f.Type)
	_, isOpt := v.Interface().(optional)
	if p.Run && (f.Type.Kind() != reflect.Float64 || p.Default != "") {
		return "only a float64 without default can be read at run time"
	}
	switch {
	case p.Required || p.Auto:
		return ""
	case p.Default == "" && p.Not:
		p.Default = "True"
	case p.Default == "":
		p.Default = formatValue(v.Interface())
	}
	if err := parseValue(v.Interface(), p.Default); err != nil {
		return "default " + err.Error()
	}
	zeroLegal := p.min == nil || *p.min <= 0
	if len(p.Enum) > 0 || f.Type.Kind() == reflect.Slice && len(p.Default) > 2 {
		zeroLegal = false // the empty string and the nil slice mean "default"
	}
	if p.Not {
		zeroLegal = false
	}
	if zeroLegal && !isOpt && !v.Elem().IsZero() && f.Type.Kind() != reflect.Slice {
		return fmt.Sprintf("default %s is not zero but zero is legal: use op.Opt[%s]", p.Default,
			f.Type)
	}
	return ""
}

// normalize replaces fields at their zero value by their defaults and checks bounds; v is an
// addressable struct.
func (s *schema) normalize(v reflect.Value) error {
	for i := range s.params {
		p := &s.params[i]
		if p.Graph {
			continue
		}
		f := v.Field(p.index)
		if err := p.normalize(f); err != nil {
			return err
		}
	}
	return nil
}

func (p *ParamSpec) normalize(f reflect.Value) error {
	ptr := f.Addr().Interface()
	if o, ok := ptr.(optional); ok && !o.given() && p.Default != "" && p.Default != "None" {
		return parseValue(ptr, p.Default)
	}
	if o, ok := ptr.(optional); ok && !o.isSet() && (p.Default == "" || p.Default == "None") {
		f.SetZero() // None is what the default says anyway
	}
	zero := f.IsZero()
	if p.Required && zero && (f.Kind() == reflect.Slice || f.Kind() == reflect.String) {
		return Errorf(p.Name, "missing, it has no default")
	}
	if zero && !p.Required && !p.Auto && !p.Not && f.Kind() != reflect.Struct {
		if err := parseValue(ptr, p.Default); err != nil {
			return Errorf(p.Name, "%v", err)
		}
	}
	return p.bounds(ptr)
}

func (p *ParamSpec) bounds(ptr any) error {
	if o, ok := ptr.(optional); ok {
		if !o.isSet() {
			return nil
		}
		ptr = o.target()
	}
	if s, ok := ptr.(*string); ok && len(p.Enum) > 0 && !slices.Contains(p.Enum, *s) {
		return Errorf(p.Name, "%q, want one of %s", *s, strings.Join(p.Enum, ", "))
	}
	if p.min == nil && p.max == nil {
		return nil
	}
	var got float64
	switch v := ptr.(type) {
	case *int:
		got = float64(*v)
	case *float64:
		got = *v
	default:
		return nil
	}
	if p.min != nil && (got < *p.min || math.IsNaN(got)) {
		return Errorf(p.Name, "%v, want at least %v", got, *p.min)
	}
	if p.max != nil && !(got <= *p.max) {
		return Errorf(p.Name, "%v, want at most %v", got, *p.max)
	}
	return nil
}

// parse builds a normalized parameter struct from MXNet's attribute strings. Keys of the form
// __key__ are not parameters; other unknown keys are errors.
func (s *schema) parse(attrs map[string]string) (any, error) {
	v := reflect.New(s.typ).Elem()
	given := make([]bool, len(s.params))
	for key, text := range attrs {
		if hiddenKey(key) {
			continue
		}
		i, ok := s.byName[key]
		if !ok {
			return nil, Errorf(key, "unknown attribute, want one of %s", strings.Join(s.names(),
				", "))
		}
		p := &s.params[i]
		f := v.Field(p.index)
		if err := parseValue(f.Addr().Interface(), text); err != nil {
			return nil, Errorf(key, "%v", err)
		}
		if p.Not {
			f.SetBool(!f.Bool())
		}
		given[i] = true
	}
	for i := range s.params {
		p := &s.params[i]
		if !p.Required || given[i] {
			continue
		}
		if p.Absent == "" {
			return nil, Errorf(p.Name, "missing, it has no default")
		}
		if err := parseValue(v.Field(p.index).Addr().Interface(), p.Absent); err != nil {
			return nil, Errorf(p.Name, "%v", err)
		}
		given[i] = true
	}
	if err := s.finish(v, given); err != nil {
		return nil, err
	}
	return v.Interface(), nil
}

// hiddenKey reports whether an attribute is not for the operator.
func hiddenKey(key string) bool {
	return strings.HasPrefix(key, "__") && strings.HasSuffix(key, "__")
}

// finish normalizes parsed parameters, keeping explicit zeros as they were given.
func (s *schema) finish(v reflect.Value, given []bool) error {
	for i := range s.params {
		p := &s.params[i]
		if p.Graph {
			continue
		}
		f := v.Field(p.index)
		if given[i] && f.IsZero() {
			if err := p.bounds(f.Addr().Interface()); err != nil {
				return err
			}
			continue
		}
		if err := p.normalize(f); err != nil {
			return err
		}
	}
	return nil
}

func (s *schema) names() []string {
	var names []string
	for _, p := range s.params {
		if !p.Graph {
			names = append(names, p.Name)
		}
	}
	return names
}

// format writes the parameters that differ from their defaults, as symbol JSON has them.
func (s *schema) format(params any) map[string]string {
	v := reflect.New(s.typ).Elem()
	v.Set(reflect.ValueOf(params))
	attrs := map[string]string{}
	for i := range s.params {
		p := &s.params[i]
		if p.Graph {
			continue
		}
		f := v.Field(p.index)
		text := formatValue(f.Addr().Interface())
		if p.Not {
			text = formatBool(!f.Bool())
		}
		if p.Required || p.Auto || text != p.Default && !sameValue(f, text, p.Default) {
			attrs[p.Name] = text
		}
	}
	return attrs
}

// sameValue reports whether two spellings parse to one value of f's type.
func sameValue(f reflect.Value, a, b string) bool {
	x, y := reflect.New(f.Type()), reflect.New(f.Type())
	if parseValue(x.Interface(), a) != nil || parseValue(y.Interface(), b) != nil {
		return false
	}
	return reflect.DeepEqual(x.Elem().Interface(), y.Elem().Interface())
}

// setAuto stores the number of inputs in the parameter declared auto, if there is one.
func (s *schema) setAuto(params any, n int) any {
	for i := range s.params {
		if s.params[i].Auto {
			v := reflect.New(s.typ).Elem()
			v.Set(reflect.ValueOf(params))
			v.Field(s.params[i].index).SetInt(int64(n / s.params[i].per))
			return v.Interface()
		}
	}
	return params
}

// graphs returns the graphs among the parameters, in the order of the fields.
func (s *schema) graphs(params any) (list []*Graph) {
	for i := range s.params {
		if p := &s.params[i]; p.Graph {
			list = append(list, reflect.ValueOf(params).Field(p.index).Interface().(*Graph))
		}
	}
	return list
}

// withGraphs stores one graph in each field that holds graphs.
func (s *schema) withGraphs(params any, list []*Graph) any {
	if len(list) == 0 {
		return params
	}
	v := reflect.New(s.typ).Elem()
	v.Set(reflect.ValueOf(params))
	for i := range s.params {
		if p := &s.params[i]; p.Graph {
			v.Field(p.index).Set(reflect.ValueOf(list[0]))
			list = list[1:]
		}
	}
	return v.Interface()
}

// appendKey appends an encoding of params that is equal for equal parameters only.
// Parameters read at run time are left out.
func (s *schema) appendKey(b []byte, params any) []byte {
	v := reflect.ValueOf(params)
	for i := range s.params {
		if p := &s.params[i]; !p.Run {
			b = appendValue(b, v.Field(p.index))
		}
	}
	return b
}

// appendRun appends the values of the parameters read at run time, zeros for nil.
func (s *schema) appendRun(values []float64, params any) []float64 {
	if len(s.run) == 0 {
		return values
	}
	v := reflect.ValueOf(params)
	for i := range s.params {
		switch p := &s.params[i]; {
		case !p.Run:
		case v.IsValid():
			values = append(values, v.Field(p.index).Float())
		default:
			values = append(values, 0)
		}
	}
	return values
}

// keyed is a *Graph. The call by an interface ends the recursion for escape analysis, by which the
// callers' buffers stay on their stacks.
type keyed interface{ key() []byte }

func appendValue(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return append(b, 1)
		}
		return append(b, 0)
	case reflect.Int, reflect.Int8:
		return binary.AppendVarint(b, v.Int())
	case reflect.Float64:
		return binary.LittleEndian.AppendUint64(b, math.Float64bits(v.Float()))
	case reflect.String:
		b = binary.AppendVarint(b, int64(v.Len()))
		return append(b, v.String()...)
	case reflect.Slice:
		b = binary.AppendVarint(b, int64(v.Len()))
		for i := range v.Len() {
			b = appendValue(b, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			b = appendValue(b, v.Field(i))
		}
	case reflect.Pointer:
		b = append(b, v.Interface().(keyed).key()...)
	default:
		panic("op: parameter of kind " + v.Kind().String())
	}
	return b
}
