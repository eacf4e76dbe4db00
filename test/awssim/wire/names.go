package wire

import (
	"cmp"
	"reflect"
	"strings"
	"unicode"
)

// field is one field of a struct on the wire.
type field struct {
	index     int
	name      string // "VpcId"
	tagged    bool   // the name is the tag's
	omitEmpty bool
	embedded  bool
}

// fields lists the exported fields of a struct type.
func fields(t reflect.Type) []field {
	var found []field
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("aws"), ",")
		if name == "-" || !f.IsExported() && !f.Anonymous {
			continue
		}
		found = append(found, field{
			index: i, tagged: name != "", omitEmpty: options == "omitempty",
			embedded: f.Anonymous && f.Type.Kind() == reflect.Struct,
			name:     cmp.Or(name, onWire(f.Name)),
		})
	}
	return found
}

// initialisms are words that Go writes in capitals and AWS does not.
var initialisms = strings.NewReplacer("IDs", "Ids", "ID", "Id", "ARN", "Arn", "DNS", "Dns", "AZ", "Az", "VPC", "Vpc", "EFA", "Efa", "IP", "Ip")

func onWire(name string) string { return initialisms.Replace(name) }

// lowerFirst is how EC2 and EKS write a name: "vpcId".
func lowerFirst(name string) string {
	first := []rune(name)
	first[0] = unicode.ToLower(first[0])
	return string(first)
}
