package wire

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"
)

// visit calls do for each field, or entry of a map in the order of names, that
// is to be written.
func visit(value reflect.Value, do func(name string, tagged bool, value reflect.Value)) {
	switch value.Kind() {
	case reflect.Struct:
		for _, f := range fields(value.Type()) {
			v := value.Field(f.index)
			switch {
			case f.embedded:
				visit(v, do)
			case !absent(v) && !(f.omitEmpty && v.IsZero()):
				do(f.name, f.tagged, v)
			}
		}
	case reflect.Map:
		for _, key := range slices.Sorted(maps.Keys(keys(value))) {
			do(key, false, value.MapIndex(reflect.ValueOf(key)))
		}
	default:
		panic(fmt.Sprintf("wire: a %s has no members", value.Type()))
	}
}

func keys(value reflect.Value) map[string]bool {
	names := map[string]bool{}
	for _, key := range value.MapKeys() {
		names[key.String()] = true
	}
	return names
}

// absent tells whether a field is never written: no text, no time, no value.
func absent(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String, reflect.Pointer, reflect.Interface:
		return v.IsZero()
	default:
		return v.Type() == timeType && v.IsZero()
	}
}

// bare follows pointers and interfaces.
func bare(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return v
}

type xmlWriter struct {
	out    *bytes.Buffer
	item   string              // what an element of a list is called
	rename func(string) string // for names that no tag gives; nil: as they are
}

func (x xmlWriter) members(answer any) {
	if answer == nil {
		return
	}
	visit(bare(reflect.ValueOf(answer)), func(name string, tagged bool, value reflect.Value) {
		if !tagged && x.rename != nil {
			name = x.rename(name)
		}
		x.element(name, value.Interface())
	})
}

func (x xmlWriter) element(name string, value any) {
	fmt.Fprintf(x.out, "<%s>", name)
	switch v := bare(reflect.ValueOf(value)); {
	case !v.IsValid():
	case v.Type() == timeType:
		x.out.WriteString(v.Interface().(time.Time).UTC().Format("2006-01-02T15:04:05.000Z"))
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			x.element(x.item, v.Index(i).Interface())
		}
	case v.Kind() == reflect.Struct, v.Kind() == reflect.Map:
		x.members(v.Interface())
	default:
		_ = xml.EscapeText(x.out, []byte(scalar(v))) // a buffer takes everything
	}
	fmt.Fprintf(x.out, "</%s>", name)
}

func scalar(v reflect.Value) string {
	if v.Kind() == reflect.Float64 {
		return strconv.FormatFloat(v.Float(), 'f', -1, 64)
	}
	return fmt.Sprint(v.Interface())
}

// writeJSON writes an object; REST services begin names with a small letter.
func writeJSON(out *bytes.Buffer, answer any, small bool) {
	if answer == nil {
		out.WriteString("{}")
		return
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(jsonValue(reflect.ValueOf(answer), small)); err != nil {
		panic(fmt.Sprintf("wire: writing an answer: %v", err)) // only what jsonValue made
	}
}

func jsonValue(value reflect.Value, small bool) any {
	v := bare(value)
	switch {
	case !v.IsValid():
		return nil
	case v.Type() == timeType:
		return float64(v.Interface().(time.Time).UnixMilli()) / 1000
	case v.Kind() == reflect.Slice:
		list := make([]any, v.Len())
		for i := range v.Len() {
			list[i] = jsonValue(v.Index(i), small)
		}
		return list
	case v.Kind() == reflect.Struct, v.Kind() == reflect.Map:
		object := map[string]any{}
		visit(v, func(name string, tagged bool, value reflect.Value) {
			if small && !tagged && v.Kind() == reflect.Struct {
				name = lowerFirst(name)
			}
			object[name] = jsonValue(value, small)
		})
		return object
	default:
		return v.Interface()
	}
}
