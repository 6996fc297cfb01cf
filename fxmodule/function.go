package fxmodule

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.uber.org/fx"
)

// arguments are the fields of a struct that fx has filled for a function: 0 is fx.In, 1 the named
// instance, and from 2 on are the function's parameters after the first two.
type arguments struct{ reflect.Value }

// wiring is what the parts of an option with a function pass on, as fx invokes each by itself.
type wiring struct {
	missing  []string   // the arguments that the graph lacks
	resolved *arguments // all of them
}

// wirings are those of a graph, by the addresses of the options' titles: two may have the same one.
type wirings map[*string]wiring

// running calls begin when the graph is built, with the named instance and with a function that
// calls the application's fn. fx provides fn's parameters after the first two, once, before that.
// The parts of the option, in the order in which fx invokes them:
//
//  1. alone, one for each argument: it records if the graph lacks that, as fx's error does not say
//  2. check, whose error names all that are missing
//  3. keep, which depends on all arguments
//  4. start, which calls begin
//
// The first three are in modules, since each has an *arguments of its own. The last is in none: fx
// invokes modules first, and begin's hooks have to be in the order of the application's options.
// Reflect makes constructors alone: a function that it makes has no name in fx's errors (see made).
func running[I, A any](kind, name string, fn any, begin func(instance I, call func(context.Context, A) error, in worker) error) fx.Option {
	title, err := titled(kind, name)
	if err != nil {
		return fx.Error(err)
	}
	f := reflect.ValueOf(fn)
	if err := fits(f, reflect.TypeFor[A]()); err != nil {
		return fx.Error(fmt.Errorf("%s: %w", title, err))
	}
	needed := fields[I](name, f.Type())
	resolve := fx.Provide(made(f, needed...), fx.Private)
	if err := fx.New(fx.NopLogger, resolve).Err(); err != nil { // types that fx never provides: *fx.In, fx.Out
		return fx.Error(fmt.Errorf("%s: %w", title, root(err)))
	}
	var parts []fx.Option
	for _, field := range single(needed) {
		alone := func(in struct {
			fx.In
			Field   *arguments `optional:"true"`
			Wirings wirings    `optional:"true"`
		},
		) error {
			switch {
			case in.Wirings == nil:
				return errors.New(title + ": the graph lacks fxmodule.Module, or what that needs")
			case in.Field == nil:
				in.Wirings[&title] = wiring{missing: append(in.Wirings[&title].missing, described(field))}
			}
			return nil
		}
		parts = append(parts, fx.Module(title, fx.Provide(made(f, field), fx.Private), fx.Invoke(alone)))
	}
	check := func(all wirings) error {
		if missing := all[&title].missing; missing != nil {
			return fmt.Errorf("%s: the graph lacks %s, or what that needs", title, strings.Join(missing, ", "))
		}
		return nil
	}
	keep := func(a *arguments, all wirings) { all[&title] = wiring{resolved: a} }
	start := func(in surroundings, all wirings) error {
		a := all[&title].resolved
		instance, _ := reflect.TypeAssert[I](a.Field(1))
		call := func(ctx context.Context, v A) error {
			values := []reflect.Value{reflect.ValueOf(ctx), reflect.ValueOf(&v).Elem()}
			for i := 2; i < a.NumField(); i++ {
				values = append(values, a.Field(i))
			}
			err, _ := reflect.TypeAssert[error](f.Call(values)[0])
			return err
		}
		if err := begin(instance, call, worker{in, title, instance}); err != nil {
			return fmt.Errorf("%s: %w", title, err)
		}
		return nil
	}
	return fx.Options(append(parts, fx.Module(title, resolve, fx.Invoke(check, keep)), fx.Invoke(start))...)
}

// fits refuses a function that can't be called with a context and a value of type a.
func fits(f reflect.Value, a reflect.Type) error {
	if !f.IsValid() || f.Kind() == reflect.Func && f.IsNil() {
		return errors.New("fn is nil")
	}
	t := f.Type()
	if t.Kind() != reflect.Func || t.IsVariadic() || t.NumIn() < 2 || t.In(0) != reflect.TypeFor[context.Context]() || t.In(1) != a ||
		t.NumOut() != 1 || t.Out(0) != reflect.TypeFor[error]() {
		return fmt.Errorf("fn is of type %v: want func(context.Context, %v) error, or one with more parameters, which fx provides", t, a)
	}
	return nil
}

// fields returns the fields of the struct that fx fills for a function of type f, after fx.In.
func fields[I any](name string, f reflect.Type) []reflect.StructField {
	all := []reflect.StructField{{Name: "Instance", Type: reflect.TypeFor[I](), Tag: reflect.StructTag(tag(name))}}
	for i := 2; i < f.NumIn(); i++ {
		all = append(all, reflect.StructField{Name: fmt.Sprintf("Parameter%d", i+1), Type: f.In(i)})
	}
	return all
}

// single returns fields, with the fields of a struct that embeds fx.In in place of the struct.
func single(fields []reflect.StructField) (all []reflect.StructField) {
	for _, f := range fields {
		in, embeds := reflect.StructField{}, f.Type.Kind() == reflect.Struct
		if embeds {
			in, embeds = f.Type.FieldByName("In")
		}
		switch {
		case embeds && in.Type == reflect.TypeFor[fx.In]():
			all = append(all, single(slices.Collect(f.Type.Fields()))...)
		case f.Type != reflect.TypeFor[fx.In]() && f.IsExported():
			all = append(all, f)
		}
	}
	return all
}

// described returns a field as the user knows it, by its type and name.
func described(f reflect.StructField) string {
	if name := f.Tag.Get("name"); name != "" {
		return fmt.Sprintf("%v named %q", f.Type, name)
	}
	return f.Type.String()
}

// made returns a constructor of arguments from a struct with these fields. In fx's errors it has
// the name and the place of the application's function f.
func made(f reflect.Value, from ...reflect.StructField) any {
	from = append([]reflect.StructField{{Name: "In", Type: reflect.TypeFor[fx.In](), Anonymous: true}}, from...)
	of := reflect.FuncOf([]reflect.Type{reflect.StructOf(from)}, []reflect.Type{reflect.TypeFor[*arguments]()}, false)
	target := reflect.MakeFunc(of, func(in []reflect.Value) []reflect.Value {
		return []reflect.Value{reflect.ValueOf(&arguments{in[0]})}
	})
	annotated := reflect.ValueOf(fx.Annotate(target.Interface()))
	named := reflect.New(annotated.Type()).Elem()
	named.Set(annotated)
	if at := named.FieldByName("FuncPtr"); at.CanSet() { // fx offers no other way to name a constructor
		at.Set(reflect.ValueOf(f.Pointer()))
	}
	return named.Interface()
}

// root returns the innermost wrapped error.
func root(err error) error {
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return err
}
