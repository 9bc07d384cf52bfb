package main

import (
	"fmt"
	"go/token"
	"path"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"gomx/op"
)

// function is the description of an operator for the templates.
type function struct {
	Op     *op.Op
	Name   string   // name of the generated functions
	Struct string   // name of the alias of the parameter struct; empty: no struct
	Params string   // the same; empty: users can set no parameter
	Doc    []string // comment lines without slashes
	Inputs []input  // inputs under any parameters
	Varies bool     // some parameters add or remove inputs
}

// input is an input of a function.
type input struct {
	Name     string // MXNet's name
	Go       string // Go identifier
	Data     bool
	Optional bool // absent under default parameters; With sets it
}

// alias is an alias of a parameter struct in the generated package.
type alias struct {
	Name, Package, Path string
	Users               []string // functions that take it
	Params              []op.ParamSpec
}

// Doc names the functions that take the parameters and lists the fields, because go doc shows only
// the comment of an alias. short is the name under which programs import the package.
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
	return wrap(lines, 4)
}

// some are example values of optional fields by the types of the fields.
var some = map[string]string{"Opt[float64]": ".Some(0.5)", "Opt[int]": ".Some(1)",
	"Opt[bool]": ".Some(true)"}

// summary names the functions that take the parameters.
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

// model is the input of the generator.
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
			return nil, fmt.Errorf("operator %s: %q is no name of an exported function, set GoName",
				o.Name, o.GoName)
		}
		if other := seen[o.GoName]; other != nil {
			return nil, fmt.Errorf("operators %s and %s are both named %s, set GoName", other.Name,
				o.Name, o.GoName)
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
			return fmt.Errorf("%s of %s and of %s have the same name", b.Name, b.Path, t.PkgPath())
		default:
			m.Aliases[i].Users = append(b.Users, f.Name)
			return nil
		}
	}
	m.Aliases = append(m.Aliases, alias{t.Name(), path.Base(t.PkgPath()), t.PkgPath(),
		[]string{f.Name}, settable(f.Op)})
	return nil
}

// settable lists the parameters that users can set. Others follow from the inputs.
func settable(o *op.Op) []op.ParamSpec {
	return slices.DeleteFunc(slices.Clone(o.Params()), func(p op.ParamSpec) bool { return p.Auto })
}

// inputs returns all inputs that an operator has under any of its variants, in order. varies
// reports whether some variants have fewer.
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
			list = slices.Insert(list, at, input{Name: x.Name, Go: goIdent(x.Name),
				Data: x.Role == op.Data})
			at++
		}
	}
	usual := o.Inputs(defaults(o))
	for i, x := range list {
		list[i].Optional = !slices.ContainsFunc(usual,
			func(y op.Input) bool { return y.Name == x.Name })
	}
	return list, min(shortest, len(usual)) < len(list)
}

// defaults returns parameters in which only parameters without a default are set.
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

// variants returns the zero parameters, parameters with one boolean set, parameters with one of the
// legal strings, and parameters with such a string and all booleans, because some inputs exist only
// in one mode.
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
	if !strings.EqualFold(o.GoName, strings.ReplaceAll(o.Name, "_", "")) &&
		!strings.Contains(doc, o.Name) {
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
	return wrap(lines, 0)
}

// wrap breaks the lines of a comment that are too wide for 100 columns behind "// ", which is
// indented by so many columns. Further lines of an item of a list are indented.
func wrap(lines []string, indent int) (out []string) {
	width := 100 - len("// ") - indent
	for _, l := range lines {
		if utf8.RuneCountInString(l) <= width {
			out = append(out, l)
			continue
		}
		more := ""
		if strings.HasPrefix(l, "  - ") {
			more = "    "
		}
		line := l[:len(l)-len(strings.TrimLeft(l, " -"))]
		line = strings.TrimRight(line, " ")
		for i, word := range strings.Fields(strings.TrimLeft(l, " -")) {
			switch {
			case i == 0 && line == "":
				line = word
			case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
				out = append(out, line)
				line = more + word
			default:
				line += " " + word
			}
		}
		out = append(out, line)
	}
	return out
}

// legal describes the values that a parameter may have.
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
	case p.Default == "" || p.Default == "None" || p.Default == "False" || p.Default == "()" ||
		p.Default == "0":
		return bounds
	}
	return bounds + "; " + p.Default + " by default"
}
