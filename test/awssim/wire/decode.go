package wire

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Decode fills the struct that into points to from the parameters. A parameter
// that the struct has no field for is an error: this simulator either does what
// a parameter says or says that it does not.
func (r *Request) Decode(into any) error {
	return r.structure(r.Action, r.Params, reflect.ValueOf(into).Elem())
}

func (r *Request) structure(path string, params map[string]any, out reflect.Value) error {
	known := map[string]reflect.Value{}
	collect(out, known)
	for name, value := range params {
		target, ok := known[strings.ToLower(name)]
		if !ok {
			return Errorf(r.codeUnknown(), "awssim does not know the parameter %s of %s", name, path)
		}
		if err := r.value(path+"."+name, value, target); err != nil {
			return err
		}
	}
	return nil
}

func collect(out reflect.Value, known map[string]reflect.Value) {
	for _, f := range fields(out.Type()) {
		if f.embedded {
			collect(out.Field(f.index), known)
			continue
		}
		known[strings.ToLower(f.name)] = out.Field(f.index)
	}
}

var timeType = reflect.TypeFor[time.Time]()

func (r *Request) value(path string, in any, out reflect.Value) error {
	if in == nil {
		return nil
	}
	if out.Type() == timeType {
		t, err := readTime(in)
		if err != nil {
			return r.invalid(path, in)
		}
		out.Set(reflect.ValueOf(t))
		return nil
	}
	switch out.Kind() {
	case reflect.Pointer:
		out.Set(reflect.New(out.Type().Elem()))
		return r.value(path, in, out.Elem())
	case reflect.Struct:
		if params, ok := in.(map[string]any); ok {
			return r.structure(path, params, out)
		}
	case reflect.Slice:
		return r.list(path, in, out)
	case reflect.Map:
		return r.table(path, in, out)
	case reflect.Interface:
		out.Set(reflect.ValueOf(in))
		return nil
	default:
		return r.scalar(path, in, out)
	}
	return r.invalid(path, in)
}

func (r *Request) list(path string, in any, out reflect.Value) error {
	items, ok := in.([]any)
	if !ok && in != "" { // "" is how an empty list is sent in a query; a list of one may come bare in a URL
		items = []any{in}
	}
	out.Set(reflect.MakeSlice(out.Type(), len(items), len(items)))
	for i, item := range items {
		if err := r.value(fmt.Sprintf("%s.%d", path, i+1), item, out.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

func (r *Request) table(path string, in any, out reflect.Value) error {
	entries, ok := in.(map[string]any)
	if !ok {
		return r.invalid(path, in)
	}
	out.Set(reflect.MakeMap(out.Type()))
	for name, entry := range entries {
		value := reflect.New(out.Type().Elem()).Elem()
		if err := r.value(path+"."+name, entry, value); err != nil {
			return err
		}
		out.SetMapIndex(reflect.ValueOf(name), value)
	}
	return nil
}

func (r *Request) scalar(path string, in any, out reflect.Value) error {
	var text string
	switch v := in.(type) {
	case string:
		text = v
	case json.Number:
		text = v.String()
	case bool:
		text = strconv.FormatBool(v)
	default:
		return r.invalid(path, in)
	}
	switch out.Kind() {
	case reflect.String:
		out.SetString(text)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return r.invalid(path, in)
		}
		out.SetBool(b)
	case reflect.Int:
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return r.invalid(path, in)
		}
		out.SetInt(n)
	case reflect.Float64:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return r.invalid(path, in)
		}
		out.SetFloat(x)
	default:
		panic(fmt.Sprintf("wire: no parameter can be a %s", out.Type()))
	}
	return nil
}

// readTime reads a time as queries (RFC 3339) or JSON (seconds) have it.
func readTime(in any) (time.Time, error) {
	if number, ok := in.(json.Number); ok {
		seconds, err := number.Float64()
		return time.UnixMilli(int64(seconds * 1000)).UTC(), err
	}
	text, _ := in.(string)
	return time.Parse(time.RFC3339, text)
}

func (r *Request) invalid(path string, in any) error {
	code := "InvalidParameterValue"
	if r.Service.Protocol == JSON || r.Service.Protocol == REST {
		code = "SerializationException"
	}
	return Errorf(code, "the value %q of %s cannot be read", fmt.Sprint(in), path)
}

func (r *Request) codeUnknown() string {
	if r.Service.Protocol == EC2 {
		return "UnknownParameter"
	}
	return "ValidationError"
}
