package main

import (
	"fmt"
	"go/token"
	"path"
	"reflect"
	"slices"
	"strings"

	"gomx/op"
)

// function is an operator as the templates see it.
type function struct {
	Op     *op.Op
	Name   string   // of the generated functions
	Struct string   // name of the parameter struct's alias, empty when there is none
	Params string   // the same, empty when users have nothing to set
	Doc    []string // comment lines without slashes
	Inputs []input  // all that any parameters give
	Varies bool     // some parameters switch inputs on or off
}

// input is an input of a function.
type input struct {
	Name     string // MXNet's
	Go       string // identifier
	Data     bool
	Optional bool // absent under default parameters: given by With
}

// alias is a parameter struct that users of the generated package find there.
type alias struct {
	Name, Package, Path string
	Users               []string // the functions that take it
	Params              []op.ParamSpec
}

// Doc says whose parameters they are and lists the fields: go doc shows of an alias nothing but its
// comment. short is the name under which programs import the package.
func (a alias) Doc(short string) []string {
	lines := []string{a.summary()}
	if len(a.Params) > 0 {
		lines = append(lines, "")
	}
	optional := ""
	for _, p := range a.Params {
		typ := strings.ReplaceAll(p.GoType, "op.Opt", "Opt")
		lines = append(lines, "  - "+p.Field+" "+typ+": "+p.Doc+legal(p))
		if example := some[typ]; example != "" && optional == "" {
			optional = a.Name + "{" + p.Field + ": " + short + example + "}"
		}
	}
	if optional != "" {
		lines = append(lines, "", "Fields of type Opt are set by [Some]: "+optional+".")
	}
	return lines
}

// some are values of optional fields by the fields' types.
var some = map[string]string{"Opt[float64]": ".Some(0.5)", "Opt[int]": ".Some(1)", "Opt[bool]": ".Some(true)"}

// summary says whose parameters they are.
func (a alias) summary() string {
	users := a.Users
	if len(users) > 3 {
		users = append(users[:3:3], "others")
	}
	text := users[0]
	if n := len(users) - 1; n > 0 {
		text = strings.Join(users[:n], ", ") + " and " + users[n]
	}
	return a.Name + " holds the parameters of " + text + "."
}

// model is what is generated from.
type model struct {
	Functions []function
	Aliases   []alias
}

// newModel describes all visible operators.
func newModel() (*model, error) {
	m := &model{}
	seen := map[string]*op.Op{}
	for _, o := range op.All() {
		if o.Hidden {
			continue
		}
		if !token.IsExported(o.GoName) {
			return nil, fmt.Errorf("operator %s: %q cannot name a function, set GoName", o.Name, o.GoName)
		}
		if other := seen[o.GoName]; other != nil {
			return nil, fmt.Errorf("operators %s and %s are both called %s, set GoName", other.Name, o.Name, o.GoName)
		}
		seen[o.GoName] = o
		f := function{Op: o, Name: o.GoName}
		f.Inputs, f.Varies = inputs(o)
		f.Doc = f.comment()
		if err := m.addParams(&f); err != nil {
			return nil, err
		}
		m.Functions = append(m.Functions, f)
	}
	slices.SortFunc(m.Functions, func(a, b function) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(m.Aliases, func(a, b alias) int { return strings.Compare(a.Name, b.Name) })
	return m, nil
}

// addParams names the parameter struct of f.
func (m *model) addParams(f *function) error {
	t := f.Op.ParamsType
	if t == reflect.TypeFor[op.NoParams]() {
		return nil
	}
	if f.Struct = t.Name(); len(settable(f.Op)) > 0 {
		f.Params = f.Struct
	}
	for i, b := range m.Aliases {
		switch {
		case b.Name != t.Name():
		case b.Path != t.PkgPath():
			return fmt.Errorf("%s of %s and of %s have one name", b.Name, b.Path, t.PkgPath())
		default:
			m.Aliases[i].Users = append(b.Users, f.Name)
			return nil
		}
	}
	m.Aliases = append(m.Aliases, alias{t.Name(), path.Base(t.PkgPath()), t.PkgPath(), []string{f.Name}, settable(f.Op)})
	return nil
}

// settable lists the parameters that users set: not those that follow from the inputs.
func settable(o *op.Op) []op.ParamSpec {
	return slices.DeleteFunc(slices.Clone(o.Params()), func(p op.ParamSpec) bool { return p.Auto })
}

// inputs returns all inputs that an operator has under any of its variants, in order, and whether
// some variants have fewer.
func inputs(o *op.Op) (list []input, varies bool) {
	if o.Variadic {
		return nil, false
	}
	shortest := len(o.Inputs(variants(o)[0]))
	for _, p := range variants(o) {
		in := o.Inputs(p)
		shortest = min(shortest, len(in))
		at := 0
		for _, x := range in {
			if k := slices.IndexFunc(list, func(y input) bool { return y.Name == x.Name }); k >= 0 {
				at = k + 1
				continue
			}
			list = slices.Insert(list, at, input{Name: x.Name, Go: goIdent(x.Name), Data: x.Role == op.Data})
			at++
		}
	}
	usual := o.Inputs(defaults(o))
	for i, x := range list {
		list[i].Optional = !slices.ContainsFunc(usual, func(y op.Input) bool { return y.Name == x.Name })
	}
	return list, min(shortest, len(usual)) < len(list)
}

// defaults returns parameters with nothing set but those that have no default.
func defaults(o *op.Op) any {
	attrs := map[string]string{}
	for _, p := range o.Params() {
		switch {
		case !p.Required:
		case len(p.Enum) > 0:
			attrs[p.Name] = p.Enum[0]
		case strings.HasPrefix(p.GoType, "[]") || strings.HasSuffix(p.GoType, "Shape"):
			attrs[p.Name] = "(1,1)"
		case p.GoType == "string":
			attrs[p.Name] = ""
		default:
			attrs[p.Name] = "1"
		}
	}
	if params, err := o.ParseParams(attrs); err == nil {
		return params
	}
	return reflect.New(o.ParamsType).Elem().Interface()
}

// variants returns the zero parameters, and those with one boolean set, one of the legal strings,
// or one of them together with all booleans: some inputs exist for one mode only, if asked for.
func variants(o *op.Op) []any {
	with := func(changes ...func(v reflect.Value)) any {
		v := reflect.New(o.ParamsType).Elem()
		for _, change := range changes {
			change(v)
		}
		return v.Interface()
	}
	var flags, modes []func(v reflect.Value)
	for _, p := range o.Params() {
		f, _ := o.ParamsType.FieldByName(p.Field)
		switch f.Type.Kind() {
		case reflect.Bool:
			flags = append(flags, func(v reflect.Value) { v.FieldByName(p.Field).SetBool(true) })
		case reflect.String:
			for _, e := range p.Enum {
				modes = append(modes, func(v reflect.Value) { v.FieldByName(p.Field).SetString(e) })
			}
		}
	}
	list := []any{with(), with(flags...)}
	for _, flag := range flags {
		list = append(list, with(flag))
	}
	for _, mode := range modes {
		list = append(list, with(mode), with(append(slices.Clone(flags), mode)...))
	}
	return list
}

// goIdent turns moving_mean into movingMean.
func goIdent(name string) string {
	parts := strings.Split(strings.Trim(name, "_"), "_")
	for i, p := range parts[1:] {
		parts[i+1] = strings.ToUpper(p[:1]) + p[1:]
	}
	id := strings.Join(parts, "")
	if token.IsKeyword(id) || id == "p" || id == "opts" {
		id += "In"
	}
	return id
}

// comment returns the documentation of the generated functions.
func (f function) comment() []string {
	o := f.Op
	doc := strings.TrimSpace(o.Doc)
	if !strings.HasPrefix(doc, o.GoName+" ") {
		doc = o.GoName + " is the operator " + o.Name + ".\n\n" + doc
	}
	lines := strings.Split(doc, "\n")
	if !strings.EqualFold(o.GoName, strings.ReplaceAll(o.Name, "_", "")) && !strings.Contains(doc, o.Name) {
		lines = append(lines, "", "MXNet's name is "+o.Name+".")
	}
	if names := f.OptionalNames(); names != "" {
		lines = append(lines, "", "Optional inputs, given by [With]: "+names+".")
	}
	params := settable(o)
	if len(params) > 0 {
		lines = append(lines, "", "Parameters:")
	}
	for _, p := range params {
		lines = append(lines, "  - "+p.Field+": "+p.Doc+legal(p))
	}
	return lines
}

// legal says which values a parameter takes.
func legal(p op.ParamSpec) string {
	bounds := ""
	if b := p.Bounds(); b != "" {
		bounds = "; " + b
	}
	switch {
	case p.Required:
		return bounds + "; required"
	case len(p.Enum) > 0:
		return "; one of " + strings.Join(p.Enum, ", ") + ", " + p.Default + " by default"
	case p.Not:
		return " (switches " + p.Name + " off)"
	case p.Default == "" || p.Default == "None" || p.Default == "False" || p.Default == "()" || p.Default == "0":
		return bounds
	}
	return bounds + "; " + p.Default + " by default"
}
